#include "replica/link/dialer.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/replica/expected_text.h"
#include "tests/replica/part_rig.h"
#include "tests/replica/transition_table.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::LINK_PURPOSE_APPEND;
using kamino::internal::v1::LINK_PURPOSE_TRANSFER;
using kamino::internal::v1::LinkPurpose;

constexpr LinkId kFirst = 1;
constexpr LinkId kAccepted = 2;

struct DialerRig : PartRig {
  std::string StateText() const {
    const char* const names[] = {"kIdle", "kWaiting", "kConnecting",
                                 "kGreeting", "kEstablished"};
    return absl::StrCat(names[static_cast<int>(dialer.state())], ", link ",
                        dialer.link());
  }
  Dialer dialer{options, LINK_PURPOSE_APPEND, &outbox};
};

TransitionTable<DialerRig> Table() {
  using Rig = DialerRig;
  const auto connect = [](Rig& rig) {
    rig.dialer.Aim(rig.Named("n2"), rig.now);
    rig.dialer.OnTick(rig.now);
  };
  TransitionTable<Rig> table;
  table.AddState("kIdle", [](Rig&) {});
  table.AddState("kWaiting", [](Rig& rig) {
    rig.dialer.Aim(rig.Named("n2"), rig.now + absl::Seconds(1));
  });
  table.AddState("kConnecting", connect);
  table.AddState("kGreeting", [connect](Rig& rig) {
    connect(rig);
    rig.dialer.OnOpened(kFirst, rig.now);
  });
  table.AddState("kEstablished", [connect](Rig& rig) {
    connect(rig);
    rig.dialer.OnOpened(kFirst, rig.now);
    rig.dialer.Establish();
  });

  table.AddInput("Hasten, OnTick", [](Rig& rig) {
    rig.dialer.Hasten(rig.now);
    rig.dialer.OnTick(rig.now);
  });
  table.AddInput("OnTick, too early",
                 [](Rig& rig) { rig.dialer.OnTick(rig.now); });
  table.AddInput("OnTick, after a second", [](Rig& rig) {
    rig.dialer.OnTick(rig.now + rig.options.hello_timeout);
  });
  table.AddInput("OnTick, after five seconds", [](Rig& rig) {
    rig.dialer.OnTick(rig.now + rig.options.connect_timeout);
  });
  table.AddInput("OnOpened", [](Rig& rig) {
    if (rig.dialer.OnOpened(kFirst, rig.now)) rig.Note("Hello is due");
  });
  table.AddInput("OnOpened, another link", [](Rig& rig) {
    if (rig.dialer.OnOpened(99, rig.now)) rig.Note("Hello is due");
  });
  table.AddInput("Establish", [](Rig& rig) { rig.dialer.Establish(); });
  table.AddInput("OnClosed", [](Rig& rig) {
    if (rig.dialer.OnClosed(kFirst, rig.now)) rig.Note("was its link");
  });
  table.AddInput("OnClosed, another link", [](Rig& rig) {
    if (rig.dialer.OnClosed(99, rig.now)) rig.Note("was its link");
  });
  table.AddInput("Retry", [](Rig& rig) { rig.dialer.Retry(rig.now); });
  table.AddInput("Adopt", [](Rig& rig) { rig.dialer.Adopt(kAccepted); });
  table.AddInput("Leave", [](Rig& rig) { rig.dialer.Leave(); });
  return table;
}

TEST(DialerTest, WalksItsTable) {
  ExpectText("tests/replica/tables/dialer.txt", Table().Walk());
}

// How long a dialer waits for the answer to Hello, in hello_timeouts.
double HelloTimeout(PartRig* rig, Dialer* dialer) {
  while (dialer->state() == Dialer::State::kWaiting) {
    rig->now += absl::Milliseconds(1);
    dialer->OnTick(rig->now);
  }
  dialer->OnOpened(dialer->link(), rig->now);
  const absl::Time begin = rig->now;
  while (dialer->state() == Dialer::State::kGreeting) {
    rig->now += absl::Milliseconds(100);
    dialer->OnTick(rig->now);
  }
  return absl::FDivDuration(rig->now - begin, rig->options.hello_timeout);
}

TEST(DialerTest, TheHelloTimeoutGrowsAfterEachLateHello) {
  PartRig rig;
  Dialer dialer(rig.options, LINK_PURPOSE_APPEND, &rig.outbox);
  dialer.Aim(rig.Named("n2"), rig.now);
  for (const double timeout : {1, 2, 4, 5, 5}) {
    EXPECT_DOUBLE_EQ(HelloTimeout(&rig, &dialer), timeout);
  }
  while (dialer.state() == Dialer::State::kWaiting) {
    rig.now += absl::Milliseconds(1);
    dialer.OnTick(rig.now);
  }
  dialer.OnOpened(dialer.link(), rig.now);
  dialer.Establish();
  dialer.Retry(rig.now);
  EXPECT_DOUBLE_EQ(HelloTimeout(&rig, &dialer), 1);
}

// How long it waits after each of some failures, in milliseconds.
std::string WaitsOf(LinkPurpose purpose, bool established) {
  PartRig rig;
  Dialer dialer(rig.options, purpose, &rig.outbox);
  dialer.Aim(rig.Named("n2"), rig.now);
  std::string waits;
  for (int i = 0; i < 6; ++i) {
    dialer.OnTick(rig.now);
    if (established) dialer.Establish();
    dialer.Retry(rig.now);
    const absl::Time begin = rig.now;
    while (dialer.state() == Dialer::State::kWaiting) {
      rig.now += absl::Microseconds(500);
      dialer.OnTick(rig.now);
    }
    absl::StrAppend(&waits, absl::ToDoubleMilliseconds(rig.now - begin), " ");
  }
  return waits;
}

TEST(DialerTest, WaitsLongerAfterEachFailure) {
  EXPECT_EQ(WaitsOf(LINK_PURPOSE_APPEND, false), "2.5 5 10 20 20 20 ");
  // An established link that ends is tried again at once.
  EXPECT_EQ(WaitsOf(LINK_PURPOSE_APPEND, true), "2.5 2.5 2.5 2.5 2.5 2.5 ");
  EXPECT_EQ(WaitsOf(LINK_PURPOSE_TRANSFER, false), "200 200 200 200 200 200 ");
}

}  // namespace
}  // namespace kamino::replica
