// Package harness starts, pauses, kills and restarts what black-box tests look
// at: the compiled fencegate binary, a real Redis, nginx and Apache, lock
// holders; and makes what fails as a test plans: a store (FakeStore) and a
// network (Line), which run in the test.
//
// Everything it starts is a process in a group of its own that dies with the
// test, even with a test that was killed. What it printed is shown when the
// test fails. A data race reported by any of them fails the test.
//
// Values belong to the test that made them: they fail it through the t they
// were made with, so a subtest makes its own. Methods that wait give up after
// Patience and tell what they saw last.
//
// A package that calls Build, Fencegate or Worker hands its TestMain to Main.
// The package knows nothing of fencegate's code, so that every test can
// import it.
package harness
