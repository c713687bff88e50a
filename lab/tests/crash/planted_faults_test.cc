// Faults in REWIND, WrAP and Archapt.
#include "tests/engine/crash/planted_faults_suite.h"

namespace kamino::engine::crash {
namespace {

const PlantedFault kFaults[] = {
    {"rewind-losers-not-undone", "rewind-1-noforce-batch"},
    {"rewind-losers-not-undone", "rewind-2-force-batch"},
    {"rewind-redo-every-clr", "rewind-1-force-optimized"},
    {"rewind-compensations-in-groups", "rewind-1-force-batch"},
    {"rewind-store-before-index", "rewind-1-force-batch"},
    {"rewind-store-before-index", "rewind-1-noforce-batch"},
    {"rewind-no-floor", "rewind-1-noforce-optimized"},
    {"rewind-floor-by-record", "rewind-1-noforce-optimized"},
    {"rewind-floor-stays", "rewind-1-noforce-optimized"},
    {"rewind-checkpoint-flushes-nothing", "rewind-1-noforce-simple"},
    {"rewind-end-cleared-with-rest", "rewind-1-force-optimized"},
    {"rewind-clearing-forgets-sequence", "rewind-1-force-batch"},
    {"rewind-halves-of-two-sequences", "rewind-1-force-batch"},
    {"rewind-freed-before-checkpoint", "rewind-1-noforce-batch"},
    {"rewind-removal-not-done-again", "rewind-1-force-simple"},
    {"rewind-words-not-put-back", "rewind-2-force-simple"},
    {"rewind-words-leave-after-end", "rewind-2-force-optimized"},
    {"wrap-close-not-drained", "wrap"},
    {"wrap-replay-in-bucket-order", "wrap"},
    {"wrap-bucket-reused-before-retired", "wrap"},
    {"wrap-marker-without-hash", "wrap"},
    {"wrap-allocator-flushes-home", "wrap"},
    {"wrap-retired-before-home", "wrap"},
    {"wrap-retired-passes-what-waits", "wrap"},
    {"wrap-retirement-forgets-sequence", "wrap"},
    {"wrap-replay-not-drained", "wrap"},
    {"wrap-recovery-keeps-retired-in-cache", "wrap"},
    {"wrap-locks-fall-first", "wrap"},
    {"wrap-logs-first-bytes-alone", "wrap"},
    {"wrap-abort-oldest-first", "wrap"},
    {"archapt-physical-out-of-order", "archapt"},
    {"archapt-log-dropped-before-seal", "archapt"},
    {"archapt-sum-only", "archapt"},
    {"archapt-member-written-while-sealed", "archapt"},
    {"archapt-rollback-before-repair", "archapt"},
    {"archapt-loss-not-reported", "archapt"},
    {"archapt-losses-are-forgotten", "archapt"},
    {"archapt-rolled-back-is-lost", "archapt"},
    {"archapt-dissolved-without-flush", "archapt"},
    {"archapt-dissolved-with-flush", "archapt"},
    {"archapt-sealed-with-sums", "archapt"},
    {"archapt-flushes-not-drained", "archapt"},
    {"archapt-claim-not-drained", "archapt"},
    {"archapt-owed-not-flushed", "archapt"},
    {"archapt-part-of-line-is-whole", "archapt"},
    {"archapt-pending-not-flushed", "archapt"},
    {"archapt-headers-not-flushed", "archapt"},
    {"archapt-undo-not-drained", "archapt"},
    {"archapt-aborts-have-no-end", "archapt"},
    {"archapt-watermark-leaves-with-tail", "archapt"},
    {"archapt-freed-before-physical", "archapt"},
    {"archapt-aborts-fill-the-log", "archapt-gainful"},
    {"archapt-watermark-follows-tail", "archapt-gainful"},
};

INSTANTIATE_TEST_SUITE_P(All, PlantedFaultTest, ::testing::ValuesIn(kFaults),
                         NameOfFault);
INSTANTIATE_TEST_SUITE_P(All, NoFaultTest, ::testing::Values("archapt"),
                         NameOfScheme);

}  // namespace
}  // namespace kamino::engine::crash
