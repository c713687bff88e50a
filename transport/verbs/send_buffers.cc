#include "transport/verbs/send_buffers.h"

#include <array>
#include <utility>

#include "base/status_macros.h"

namespace kamino::transport {

absl::Status SendBuffers::AddSlab() {
  ASSIGN_OR_RETURN(auto memory,
                   PinnedMemory::Allocate(kSlabBuffers * kSendBuffer));
  ASSIGN_OR_RETURN(const uint32_t key, group_->Register(memory.bytes()));
  const uint64_t first = slabs_.size() * kLinkReceives;
  slabs_.push_back({std::move(memory), key});
  std::array<GroupReceive, kLinkReceives> receives;
  for (size_t i = 0; i < receives.size(); ++i) {
    receives[i] = ReceiveOf(first + i);
  }
  // On failure some may be posted: keeps the memory, but not for sends.
  RETURN_IF_ERROR(group_->PostReceives(receives));
  free_.push_back(slabs_.size() - 1);
  return absl::OkStatus();
}

size_t SendBuffers::Take() {
  const size_t slab = free_.back();
  free_.pop_back();
  ++taken_;
  return slab;
}

void SendBuffers::GiveBack(size_t slab) {
  free_.push_back(slab);
  --taken_;
}

}  // namespace kamino::transport
