// A node's cache of sessions: only committed state is cached, and damage is not
// hidden by it.
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include "engine/heap/heap_reader.h"
#include "gtest/gtest.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/state/sessions.h"
#include "tests/faults/planted.h"
#include "tests/replica/sessions_fixture.h"

namespace kamino::replica {
namespace {

using session_format::kInlineBytes;

// --- Only committed state is cached.

// Within one transaction, which is aborted.
TEST_F(SessionsTest, AnAbortedOpeningOpensNoSession) {
  auto transaction = head_.Begin();
  kamino::internal::v1::OpenSession wanted;
  wanted.set_session_id(9);
  wanted.set_window(1);
  Mutation open;
  open.function = kOpenSessionFunction;
  open.arguments = wanted.SerializeAsString();
  ASSERT_TRUE(state_.Execute(*transaction, open, sequence_ + 1).ok());
  const Mutation put = Of(1, "test.echo", "", 9);
  EXPECT_TRUE(state_.Execute(*transaction, put, sequence_ + 2).ok());
  kamino::internal::v1::CloseSessions closed;
  closed.add_session_ids(kSession);
  Mutation close;
  close.function = kCloseSessionsFunction;
  close.arguments = closed.SerializeAsString();
  ASSERT_TRUE(state_.Execute(*transaction, close, sequence_ + 3).ok());
  EXPECT_EQ(
      ReasonOf(state_.Execute(*transaction, Of(1, "test.echo"), sequence_ + 4)
                   .status()),
      kamino::v1::REASON_SESSION_EXPIRED);
  ASSERT_TRUE(transaction->Abort().ok());
  state_.Ended(/*committed=*/false);
  EXPECT_EQ(ReasonOf(Execute(put).status()),
            kamino::v1::REASON_SESSION_EXPIRED);
  EXPECT_TRUE(Echo(1, "").ok());
}

TEST_F(SessionsTest, ForgottenSlotsAreReadAgain) {
  ASSERT_TRUE(Echo(1, "kept").ok());
  state_.Forget();
  replica_state_.Forget();
  EXPECT_EQ(Echo(1, "")->result, "kept");
  EXPECT_FALSE(Echo(2, "")->repeated);
}

TEST_F(SessionsTest, ReportsWhetherANumberIsTaken) {
  ASSERT_TRUE(Echo(2, "").ok());
  ASSERT_TRUE(Echo(6, "").ok());
  ASSERT_TRUE(Void(3).ok());
  engine::HeapReader reader(&head_.heap());
  const auto is_taken = [&](uint64_t number, uint64_t id = kSession) {
    auto taken = state_.IsTaken(reader, id, number);
    EXPECT_TRUE(taken.ok()) << taken.status();
    return taken.value_or(std::nullopt);
  };
  EXPECT_EQ(is_taken(1), false);
  EXPECT_EQ(is_taken(2), true);
  EXPECT_EQ(is_taken(3), true);
  EXPECT_EQ(is_taken(6), true);
  EXPECT_EQ(is_taken(10), false);
  EXPECT_EQ(is_taken(1, 5), std::nullopt);
}

// --- Damage.

TEST_F(SessionsTest, ADamagedSlotIsRefused) {
  ASSERT_TRUE(Echo(1, "").ok());
  const engine::Intent slot = write_set_.back();
  std::byte* const payload = head_.heap().BlockPayload(slot.object).data();
  session_format::SessionSlot sound;
  std::memcpy(&sound, payload, sizeof(sound));
  using Slot = session_format::SessionSlot;
  const std::vector<std::function<void(Slot*)>> changes = {
      [](Slot* it) { it->kind = 0; },
      [](Slot* it) { it->kind = 3; },
      [](Slot* it) { it->number = 2; },
      [](Slot* it) { it->number = 0; },
      [](Slot* it) { it->sequence = 0; },
      [](Slot* it) { it->length = kInlineBytes + 1; },
      [](Slot* it) { it->overflow = 4096; },
      [](Slot* it) { it->kind = 2, it->length = 1; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Slot damaged = sound;
    changes[i](&damaged);
    std::memcpy(payload, &damaged, sizeof(damaged));
    EXPECT_TRUE(absl::IsDataLoss(Echo(1, "").status())) << i;
    EXPECT_TRUE(absl::IsDataLoss(Close({kSession}))) << i;
  }
  std::memcpy(payload, &sound, sizeof(sound));
  EXPECT_TRUE(Echo(1, "")->repeated);
}

}  // namespace
}  // namespace kamino::replica
