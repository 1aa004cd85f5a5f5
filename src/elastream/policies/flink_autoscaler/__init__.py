"""The autoscaler of Flink's Kubernetes operator: its formulas, its vertices and the policy."""
