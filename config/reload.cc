#include "config/reload.h"

#include <utility>

namespace kamino::config {

Reloads& Reloads::Get() {
  static auto* reloads = new Reloads;
  return *reloads;
}

Reloads::Registration Reloads::Add(Reloader reloader) {
  absl::MutexLock lock(&mutex_);
  Registration registration;
  registration.of_ = this;
  registration.which_ =
      reloaders_.insert(reloaders_.end(), std::move(reloader));
  return registration;
}

void Reloads::ForEach(const std::function<void(const Reloader&)>& call) {
  absl::MutexLock lock(&mutex_);
  for (const Reloader& reloader : reloaders_) call(reloader);
}

Reloads::Registration& Reloads::Registration::operator=(
    Registration&& other) noexcept {
  std::swap(of_, other.of_);
  std::swap(which_, other.which_);
  return *this;
}

Reloads::Registration::~Registration() {
  if (of_ == nullptr) return;
  absl::MutexLock lock(&of_->mutex_);
  of_->reloaders_.erase(which_);
}

}  // namespace kamino::config
