// Planted faults that must change a transcript.
#include <string>

#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/replica/expected_text.h"
#include "tests/replica/transcript.h"

namespace kamino::replica {
namespace {

struct Trial {
  const char* fault;
  const char* transcript;
};

constexpr Trial kTrials[] = {
    {"chain-half-diverged-counts-as-sound", "divergent_halfway"},
    {"chain-forgets-divergences-at-a-restart", "divergent_outlives_restart"},
    {"ring-rot-ends-the-last-holder", "rotten_ring_last_copy"},
    {"ring-rot-ends-the-last-holder", "rotten_ring_last_copy_behind"},
    {"chain-sends-what-it-cannot-read", "rotten_ring"},
    {"downstream-flags-no-quarantined-entry", "quarantined_entry"},
    {"chain-flags-what-is-complete", "quarantined_behind"},
    {"chain-quarantines-a-diverging-entry", "divergent_left_out"},
    {"chain-discards-what-lacks-the-complete", "quarantined_complete"},
    {"divergence-keeps-the-heads-image", "divergent_head"},
    {"divergence-counts-a-copy-twice", "divergent_by_copy"},
    {"downstream-forgets-what-it-sent", "asked_again_late"},
    {"scrub-skips-a-range", "scrub_agrees"},
    {"scrub-pauses-while-unresolved", "scrub_off_unresolved"},
    {"scrub-hides-unresolved-ranges", "scrub_off_untold"},
    {"damage-ends-the-node-unheard", "scrub_ends_when_heard"},
    {"chain-takes-another-release-for-damage", "lacks_procedure"},
};

class PlantedTranscriptsTest : public ::testing::TestWithParam<Trial> {};

TEST_P(PlantedTranscriptsTest, AFaultChangesTheTranscript) {
  const std::string text = ReadText(std::string("tests/replica/transcripts/") +
                                    GetParam().transcript + ".txt");
  ASSERT_EQ(PlayTranscript(text), text);
  const faults::Planted fault(GetParam().fault);
  EXPECT_NE(PlayTranscript(text), text);
}

INSTANTIATE_TEST_SUITE_P(Faults, PlantedTranscriptsTest,
                         ::testing::ValuesIn(kTrials));

}  // namespace
}  // namespace kamino::replica
