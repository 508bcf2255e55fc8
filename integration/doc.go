// Package integration looks at fencegate from outside: scenarios that start
// the compiled binary, a real Redis, nginx and Apache, and lock holders as
// processes of their own, then pause, kill and restart them, and check that
// DESIGN's promises hold; and the rules of the house that no compiler checks.
//
//   - One scenario is one file named for it, and says at its top which promise
//     it shows. It reads as a story: who does what, what must come of it.
//   - harness/ starts and stops things. It knows nothing of fencegate's code.
//   - A scenario waits for events (a line, a log record, a metric, an answer),
//     never for time to pass.
//   - history/ finds broken promises in what clients and the store recorded.
//     torture/ makes such records, of every fault at once: make torture.
//   - Repetitions of random scenarios come from harness.Scale: a tenth with
//     make test, all of them with make soak.
//   - arrows_test.go says which package may import which, tree_test.go what
//     may lie in the repository.
//   - bench/ is a program that measures what a write costs: make bench.
//   - deploy/ is how fencegate is run in a container and as a service. Tests run
//     it as it is written there, in namespaces of their own; no engine is needed.
//   - DEFECTS.md has a row for every defect that a promise suffered from.
//
// # Scenarios
//
// Which test shows what; all run the compiled binary. Stores that misbehave are
// harness.FakeStore, networks harness.Line.
//
//	A paused holder writes late            TestZombieWriterIsRefused, TestZombieOverNginx, TestZombieWriterStopsItself
//	A holder is cut off before it writes   TestClaimCutsOffTheOldHolder
//	A write lands after its 504            TestLateLandingIsWaitedFor, TestLateLandingIsWaitedForByClaims
//	What each answer of a store means      TestAnswersOfTheStoreToAWrite, TestAnswerThatBreaksOff
//	The network to the store is cut        TestPartitionFromTheStore
//	Nothing is sent to the store twice     TestDeleteIsSentOnce, TestDeleteOnADyingConnection
//	A slow upload is overtaken             TestSlowUploadIsOvertaken, TestUploadIsOvertaken
//	A streamed upload is overtaken         TestStreamedUploadIsOvertaken
//	A client does not take its answer      TestStalledClientHoldsNothing
//	kill -9 with a begun write             TestKilledWithABegunWrite, TestKilledWhileSending
//	kill -9 again and again                TestKilledUnderWriters, TestKilledUnderWritersOverNginx, TestKilledInTheMiddleOfUploads
//	The hold after an unclean end          TestHoldAfterAKill, TestHoldIsWaitedFor, TestHoldOutlastsAKillDuringTheHold
//	TERM during the hold                   TestHoldOutlastsAStop
//	TERM with something unsettled          TestStopWithSomethingUnsettled
//	TERM with uploads on their way         TestStopLetsAnUploadEnd, TestStopCutsWhatDoesNotEnd
//	The mark is on disk before the write   TestMarkIsDurableBeforeTheFirstByte
//	Equal tokens while a mark is raised    TestEqualTokensShareTheirRaise
//	Many raise marks on a slow disk        TestParallelRaisesShareCommits
//	Two owners have one number             TestTwoOwnersInOneCommit, TestTwoOwnersRace
//	A tree is deleted, and a PUT below     TestDeleteOfATreeAndAPutBelow, TestStaleWriteBesideASlowTree, TestDeleteOfATree
//	Marks outlive process and object       TestMarksSurvive
//	A commit fails                         TestFailedCommitLatches, TestRepairAfterTheDiskFailed
//	The ledger's disk is full              TestFullDiskOfTheLedger, TestFullLedgerIsTold
//	The ledger is replaced under us        TestReplacedLedgerIsTold
//	The lock service forgets its counter   TestLocksHealAfterALostCounter
//	Redis is cut off while a command runs  TestLockEndsItsCommandBeforeTheLease
//	A stranger's suite of WebDAV tests     TestLitmus
//	One name is written in many ways       TestSpellings
//	Every WebDAV method comes late         TestStaleHolderOverWebDAV
//	MOVE and COPY between two locks        TestMoveWithTwoTokens, TestWrongDestinations
//	The store has names of its own         TestNamesOfAnotherPrefix, TestNameInHost
//	Uploads break off over WebDAV          TestCutUploadsOverWebDAV, TestCutOnTheWayToTheStore
//	Programs that know nothing of fencing  TestWebDAVClients, TestMountedWebDAV
//	Very many files are listed             TestListingPassesThrough, TestListingOfManyFiles
//	A directory is served over WebDAV      TestLitmusOverADirectory, TestWebDAVClientsOverADirectory, TestRcloneOverADirectory
//	… through FENCEGATE_URL                TestLitmusOverADirectory, TestWebDAVBehindTheHelper, TestClientsBehindTheHelper
//	… as a mount, to a browser             TestMountedDirectory, TestBrowsingADirectory
//	… by names in all spellings            TestSpellingsOverADirectory, TestNamesOnDiskOverWebDAV, TestPublicNamesOfADirectory
//	… to a holder who lost the lock        TestStaleHolderOverADirectory, TestMoveWithTwoTokensInADirectory
//	… while uploads break off              TestCutUploadsOverADirectory
//	… killed while trees move              TestKilledWhileTreesMove
//	… to many at once                      TestOneOfManyCreates, TestOneTokenWritesInParallel, TestListingOfALargeDirectory
//	… while a tree goes                    TestTreeWaitsForWhatHasBegunBelow, TestTreeGoesUnderAnUpload
//	… with odd files, on odd file systems  TestOddFilesOverWebDAV, TestDirectoryWithoutAttributes
//	… and then over plain                  TestDirectoryChangesItsProtocol
package integration
