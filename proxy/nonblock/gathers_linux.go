package nonblock

// Gathers: Gather hands over both pieces at once.
const Gathers = true
