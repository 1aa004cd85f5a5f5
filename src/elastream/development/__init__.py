"""What only a laboratory or a developer needs: a cluster and a broker of one's own, events, capacity and time."""
