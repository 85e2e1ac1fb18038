#include "base/crew.h"

#include <cstdio>
#include <new>

namespace ingot {

constinit thread_local bool Crew::inside_team = false;

void Team::wait_at_barrier() const {
  Barrier& mine = barrier_[rank_];
  const uint32_t turn = ++mine.turn;
  for (int r = 0, step = 1; step < size_; ++r, step *= 2) {
    const int partner = rank_ + step < size_ ? rank_ + step : rank_ + step - size_;
    barrier_[partner].round[r].post(turn);
    mine.round[r].wait(turn, mine.crowd);
  }
}

Crew* Crew::hire(int size) {
  Crew* crew = new (std::nothrow) Crew;
  if (crew == nullptr) return nullptr;
  crew->crowd_ = size > usable_cores();
  crew->allowed_ = os::CoreSet::allowed();
  const os::SignalsOff quiet;
  int hired = 1;
  for (; hired < size; ++hired) {
    Seat& seat = crew->seats_[hired];
    seat.crew = crew;
    seat.rank = hired;
    if (!seat.thread.start(&Crew::work, &seat)) break;
  }
  crew->size_ = hired;  // workers read it only after their first start signal
  for (int rank = 0; rank < hired; ++rank) crew->barriers_[rank].crowd = crew->crowd_;
  return crew;
}

Crew::~Crew() {
  for (int rank = 1; rank < size_; ++rank) {
    seats_[rank].fn = nullptr;
    seats_[rank].start.post(++seats_[rank].turn);
  }
  for (int rank = 1; rank < size_; ++rank) seats_[rank].thread.join();
}

// The scheduler likes to wake a worker on the core of whoever woke it, and may leave it there while another core is
// idle: the two would take turns. So a worker that finds itself on its caller's core goes elsewhere.
void Crew::leave_callers_core() const {
  if (!crowd_ && caller_core_ >= 0 && os::current_core() == caller_core_) allowed_.leave(caller_core_);
}

void Crew::run(void (*fn)(void*, const Team&), void* context, int most) noexcept {
  caller_core_ = os::current_core();
  const int team = most < size_ ? most : size_;
  if (team > last_team_) {  // members who sat out missed some turns: their signals must not look like later ones
    for (int rank = 0; rank < team; ++rank)
      for (EventCount& round : barriers_[rank].round) round.post(barriers_[0].turn);
  }
  last_team_ = team;
  for (int rank = 1; rank < team; ++rank) {
    barriers_[rank].turn = barriers_[0].turn;
    seats_[rank].fn = fn;
    seats_[rank].context = context;
    seats_[rank].team = team;
    seats_[rank].start.post(++seats_[rank].turn);
  }
  fn(context, Team(0, team, barriers_));
  for (int rank = 1; rank < team; ++rank) seats_[rank].done.wait(seats_[rank].turn, crowd_);
}

void* Crew::work(void* argument) {
  Seat& seat = *static_cast<Seat*>(argument);
  Crew& crew = *seat.crew;
  inside_team = true;
  char name[16];
  std::snprintf(name, sizeof name, "ingot-%d", seat.rank);
  os::name_this_thread(name);
  for (uint32_t turn = 1;; ++turn) {
    seat.start.wait(turn, crew.crowd_);
    if (seat.fn == nullptr) return nullptr;
    crew.leave_callers_core();
    seat.fn(seat.context, Team(seat.rank, seat.team, crew.barriers_));
    seat.done.post(turn);
  }
}

}  // namespace ingot
