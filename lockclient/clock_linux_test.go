package lockclient

const bootClockKnown = true
