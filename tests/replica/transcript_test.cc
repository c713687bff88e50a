// Each file under tests/replica/transcripts/ is played, and must not change. To
// write one: commands alone (see transcript.h), then
//
//   bazel run //tests/replica:transcript_test -- --rewrite
//
// and read the results.
#include "tests/replica/transcript.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/replica/expected_text.h"

namespace kamino::replica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kFolder[] = "tests/replica/transcripts";

class TranscriptTest : public ::testing::TestWithParam<std::string> {};

TEST_P(TranscriptTest, ATranscriptReplaysUnchanged) {
  const std::string path = GetParam();
  const std::string text = PlayTranscript(ReadText(path));
  EXPECT_THAT(text, Not(HasSubstr("\n  ? "))) << path << " cannot be played";
  ExpectText(path, text);
}

std::string NameOf(const ::testing::TestParamInfo<std::string>& info) {
  const size_t begin = info.param.rfind('/') + 1;
  return info.param.substr(begin, info.param.rfind('.') - begin);
}

INSTANTIATE_TEST_SUITE_P(Transcripts, TranscriptTest,
                         ::testing::ValuesIn(TextsIn(kFolder)), NameOf);

TEST(PlayTranscriptTest, AllTranscriptsAreFound) {
  EXPECT_GE(TextsIn(kFolder).size(), 25u);
}

TEST(PlayTranscriptTest, EffectsAndErrorsAreWritten) {
  EXPECT_EQ(PlayTranscript("# Two nodes.\n"
                           "nodes n1 n2\n"
                           "view 1 n1 n2\n"
                           "  what is here is what came of it before\n"
                           "deliver n1 n2\n"
                           "leap n1\n"
                           "kill n3\n"),
            "# Two nodes.\n"
            "nodes n1 n2\n"
            "view 1 n1 n2\n"
            "  n1: outside, fresh -> head, sound\n"
            "  n2: outside, fresh -> tail, sound\n"
            "deliver n1 n2\n"
            "  n1 -> n2: Hello, n1 appends: applied 0, cleaned 0\n"
            "leap n1\n"
            "  ? there is no such command\n"
            "kill n3\n"
            "  ? there is no n3\n");
}

}  // namespace
}  // namespace kamino::replica
