"""DS2 (Kalavri et al., OSDI 2018): its equations, its interval, how it sizes, and what it does with the answer."""
