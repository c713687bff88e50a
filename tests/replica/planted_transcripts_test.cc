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
    {"chain-half-disputed-counts-as-sound", "disputed_halfway"},
    {"chain-forgets-disputes-at-a-restart", "disputed_outlives_restart"},
    {"ring-rot-ends-the-last-holder", "rotten_ring_last_copy"},
    {"ring-rot-ends-the-last-holder", "rotten_ring_last_copy_behind"},
    {"chain-sends-what-it-cannot-read", "rotten_ring"},
    {"downstream-flags-nothing-as-deadly", "deadly_entry"},
    {"chain-flags-what-is-complete", "deadly_behind"},
    {"chain-takes-disputed-for-deadly", "disputed_left_out"},
    {"chain-discards-what-lacks-the-complete", "deadly_complete"},
    {"dispute-keeps-the-heads-image", "disputed_head"},
    {"dispute-counts-a-copy-twice", "disputed_by_copy"},
    {"downstream-forgets-what-it-sent", "asked_again_late"},
    {"scrub-skips-a-range", "scrub_agrees"},
    {"scrub-rests-while-in-doubt", "scrub_off_in_doubt"},
    {"scrub-keeps-doubts-to-itself", "scrub_off_untold"},
    {"damage-ends-the-node-unheard", "scrub_ends_when_heard"},
    {"chain-takes-another-release-for-damage", "lacks_procedure"},
};

class PlantedTranscriptsTest : public ::testing::TestWithParam<Trial> {};

TEST_P(PlantedTranscriptsTest, ComesOutOtherwise) {
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
