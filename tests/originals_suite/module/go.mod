// The tests of OpenKruise Rollouts, pinned with everything that they are compiled from; go.sum says what is unmodified.
module moonshift.dev/tests/originals_suite

go 1.25

require github.com/openkruise/rollouts v0.6.3
