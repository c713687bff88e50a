#include "tests/replica/transcript.h"

#include <map>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/replica/text_entry.h"
#include "tests/replica/transcript_network.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::ChainMessage;
using Words = std::vector<std::string>;

constexpr int kEndless = 2000;  // ticks and messages without rest

uint64_t NumberOf(const std::string& word) {
  uint64_t number = 0;
  return absl::SimpleAtoi(word, &number) ? number : 0;
}

// Expands an operation's words: "a=x*9" is "a=xxxxxxxxx".
std::string Operation(const Words& words, size_t from) {
  std::vector<std::string> expanded;
  for (size_t i = from; i < words.size(); ++i) {
    const std::vector<std::string> parts = absl::StrSplit(words[i], '*');
    expanded.push_back(parts[0]);
    if (parts.size() < 2 || parts[0].empty()) continue;
    expanded.back().append(NumberOf(parts[1]) - 1, parts[0].back());
  }
  return absl::StrJoin(expanded, " ");
}

// Many x in a row are written as in a command.
std::string Shortened(const std::string& line) {
  std::string text;
  for (size_t i = 0; i < line.size();) {
    size_t end = i;
    while (end < line.size() && line[end] == 'x') ++end;
    if (end - i > 8) {
      absl::StrAppend(&text, "x*", end - i);
      i = end;
    } else {
      text += line[i++];
    }
  }
  return text;
}

class Player {
 public:
  Player()
      : network_([this](const std::string& line, bool loud) {
          if (loud && quiet_) return;
          Say(line);
        }) {}

  std::string Play(const std::string& transcript) {
    for (absl::string_view line : absl::StrSplit(transcript, '\n')) {
      if (absl::StartsWith(line, "  ")) continue;
      absl::StrAppend(&text_, line, "\n");
      if (line.empty() || line[0] == '#') continue;
      Words words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      const std::string problem = Run(words);
      if (!problem.empty()) Say("? " + problem);
    }
    while (absl::EndsWith(text_, "\n\n")) text_.pop_back();
    return text_;
  }

 private:
  using Command = void (Player::*)(const Words& words);

  void Say(const std::string& line) {
    absl::StrAppend(&text_, "  ", Shortened(line), "\n");
  }

  // "" or the mistake in the command.
  std::string Run(const Words& words) {
    static const auto* const commands = new std::map<std::string, Command>{
        {"nodes", &Player::Nodes},     {"view", &Player::View},
        {"submit", &Player::Submit},   {"append", &Player::Submit},
        {"deliver", &Player::Deliver}, {"drop", &Player::Deliver},
        {"damage", &Player::Harm},     {"diverge", &Player::Harm},
        {"lack", &Player::Harm},       {"flip", &Player::Flip},
        {"scrub", &Player::Scrub},     {"rot", &Player::Harm},
        {"kill", &Player::Harm},       {"copy", &Player::Harm},
        {"tear", &Player::Harm},       {"falter", &Player::Harm},
        {"break", &Player::Links},     {"cut", &Player::Links},
        {"heal", &Player::Links},      {"tick", &Player::Time},
        {"settle", &Player::Time},     {"rounds", &Player::Time},
        {"restart", &Player::Restart}, {"invite", &Player::Invite},
        {"uninvite", &Player::Invite}, {"say", &Player::Forge},
        {"show", &Player::Show},       {"links", &Player::ShowLinks},
    };
    const auto command = commands->find(words[0]);
    if (command == commands->end()) return "there is no such command";
    if (words.size() < 2 && words[0] != "deliver" && words[0] != "tick" &&
        words[0] != "scrub" && words[0] != "settle" && words[0] != "show") {
      return "of whom?";
    }
    for (size_t i = 1; i < words.size() && words[0] != "nodes"; ++i) {
      const bool name =
          words[i][0] == 'n' && words[i].find('=') == words[i].npos;
      if (name && !network_.Exists(words[i])) return "there is no " + words[i];
    }
    quiet_ = words[0] == "settle" || words[0] == "rounds";
    (this->*command->second)(words);
    return "";
  }

  void Nodes(const Words& words) {
    for (size_t i = 1; i < words.size(); ++i) network_.AddNode(words[i]);
  }

  void View(const Words& words) {
    Words members, to;
    Words* names = &members;
    for (size_t i = 2; i < words.size(); ++i) {
      if (words[i] == "to") {
        names = &to;
      } else {
        names->push_back(words[i]);
      }
    }
    if (names == &members) to = network_.Names();
    network_.InstallView(NumberOf(words[1]), members, to);
  }

  void Submit(const Words& words) {
    if (!network_.IsUp(words[1])) return Say(words[1] + " is down");
    network_.Submit(words[1], Operation(words, 2), words[0] == "submit");
  }

  // Only messages in flight between two nodes now; otherwise also those that
  // they lead to.
  void Deliver(const Words& words) {
    const std::string from = words.size() > 1 ? words[1] : "";
    const std::string to = words.size() > 2 ? words[2] : "";
    size_t count = to.empty() ? kEndless : network_.CountOnTheWay(from, to);
    if (words.size() > 3) count = NumberOf(words[3]);
    while (count > 0 && network_.DeliverOne(from, to, words[0] == "drop")) {
      --count;
    }
  }

  void Harm(const Words& words) {
    if (!network_.IsUp(words[1])) return Say(words[1] + " is down");
    if (words[0] == "damage") network_.DamageNext(words[1]);
    if (words[0] == "diverge") network_.Diverge(words[1]);
    if (words[0] == "lack") network_.LackProcedure(words[1]);
    if (words[0] == "rot") network_.Rot(words[1]);
    if (words[0] == "kill") network_.Kill(words[1]);
    if (words[0] == "copy") network_.SaveCopy(words[1]);
    const size_t writes = words.size() > 2 ? NumberOf(words[2]) : 1;
    if (words[0] == "tear") network_.TearNext(words[1], writes);
    if (words[0] == "falter") network_.Falter(words[1], writes);
  }

  void Flip(const Words& words) {
    if (words.size() < 3) return Say("? what?");
    network_.Flip(words[1], words[2]);
  }

  void Scrub(const Words& words) { network_.Scrub(words.size() == 1); }

  void Links(const Words& words) {
    if (words.size() < 3) return Say("? between whom?");
    if (words[0] == "break") return network_.Break(words[1], words[2]);
    network_.Cut(words[1], words[2], words[0] == "cut");
  }

  void Time(const Words& words) {
    if (words[0] == "tick") {
      const int64_t ms = words.size() > 1 ? NumberOf(words[1]) : 25;
      return network_.Tick(absl::Milliseconds(ms));
    }
    if (words[0] == "rounds") {
      for (uint64_t i = NumberOf(words[1]); i > 0; --i) Round();
      return;
    }
    // Longer than the delays before retries.
    constexpr int kQuietTicks = 12;
    int quiet = 0;
    for (int i = 0; quiet < kQuietTicks; ++i) {
      if (i == kEndless) return Say("? does not come to rest");
      quiet = Round() ? 0 : quiet + 1;
    }
  }

  // Whether any message was sent.
  bool Round() {
    bool said = false;
    for (int i = 0; i < kEndless && network_.DeliverOne("", ""); ++i) {
      said = true;
    }
    network_.Tick(absl::Milliseconds(25));
    return said;
  }

  void Restart(const Words& words) {
    if (network_.IsUp(words[1])) network_.Kill(words[1]);
    using Files = TranscriptNetwork::Files;
    const std::string files = words.size() > 2 ? words[2] : "";
    network_.Restart(words[1], files == "copy"    ? Files::kCopy
                               : files == "empty" ? Files::kNone
                                                  : Files::kOwn);
  }

  void Invite(const Words& words) {
    network_.Invite(words[1], words[0] == "invite");
  }

  // say n1 n2 7 append 3 a=1 | ack 3 | clean 3 | complete 3 | sync 3 | fetch 3
  void Forge(const Words& words) {
    if (words.size() < 6) return Say("? says what?");
    ChainMessage message;
    message.set_view_id(NumberOf(words[3]));
    const uint64_t number = NumberOf(words[5]);
    const std::string& what = words[4];
    std::string payload;
    if (what == "append") {
      message.mutable_append();
      payload = TextEntry(number, Operation(words, 6));
    } else if (what == "ack") {
      message.mutable_append_ack()->set_received(number);
    } else if (what == "clean") {
      message.mutable_clean_up()->set_cleaned(number);
    } else if (what == "complete") {
      message.mutable_completion()->set_applied(number);
    } else if (what == "sync") {
      message.mutable_sync()->set_received(number);
    } else if (what == "end") {
      message.mutable_state_chunk()->set_snapshot(
          absl::StrCat("after ", number));
    } else {
      return Say("? cannot say that");
    }
    network_.Forge(words[1], words[2], message, payload);
  }

  void Show(const Words& words) {
    const Words names = words.size() > 1 ? Words(words.begin() + 1, words.end())
                                         : network_.Names();
    for (const std::string& name : names) Say(network_.TextOf(name));
  }

  void ShowLinks(const Words& words) {
    if (!network_.IsUp(words[1])) return Say(words[1] + " is down");
    for (const std::string& link : network_.LinksOf(words[1])) Say(link);
  }

  std::string text_;
  bool quiet_ = false;
  TranscriptNetwork network_;
};

}  // namespace

std::string PlayTranscript(const std::string& transcript) {
  return Player().Play(transcript);
}

}  // namespace kamino::replica
