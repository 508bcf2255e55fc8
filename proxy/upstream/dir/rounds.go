package dir

import (
	"errors"
	"sync"
)

// rounds change names in directories and make that durable: in each directory
// one round after the other, of which each makes the changes of all who wait for
// it and then calls fsync once. An fsync covers every change that was made before
// it began, whoever made it, and none that was made while it was under way. The
// changes of a round are made by one goroutine, since the kernel would let many
// do nothing but wait for each other.
type rounds struct {
	fsync func(dir *folder) error

	mu    sync.Mutex
	under map[inode]*round // way, by directory
	// alone is set when an fsync has failed. The kernel tells of an error once to
	// each descriptor, and to those that are opened later not at all, so that from
	// then on what one descriptor says is nothing to go by for others.
	alone bool
}

// inode tells a directory from others while it is open.
type inode struct{ dev, ino uint64 }

// round is what is under way in a directory: at its end next begins.
type round struct{ next *party }

// party are those who wait for a round that has not begun.
type party struct {
	begin   chan struct{} // for its first member, who carries it out
	done    chan struct{}
	members []*member
}

type member struct {
	dir                *folder
	change             func() error
	refused, undurable error
}

func newRounds() *rounds {
	return &rounds{fsync: (*folder).sync, under: map[inode]*round{}}
}

// join lets change, which changes names in dir, be made in the next round there,
// perhaps by another goroutine, and returns when that is over. refused is the
// error of change; then nothing needs to be durable. undurable is that of the
// fsync.
func (s *rounds) join(dir *folder, change func() error) (refused, undurable error) {
	now, err := dir.itself()
	if err != nil {
		return err, nil
	}
	id, m := inode{now.dev, now.ino}, &member{dir: dir, change: change}
	s.mu.Lock()
	r := s.under[id]
	if r == nil {
		r = &round{}
		s.under[id] = r
		s.mu.Unlock()
		defer s.end(id, r)
		s.carryOut([]*member{m})
		return m.refused, m.undurable
	}
	p := r.next
	if p != nil {
		p.members = append(p.members, m)
		s.mu.Unlock()
		<-p.done
		return m.refused, m.undurable
	}
	p = &party{begin: make(chan struct{}), done: make(chan struct{}), members: []*member{m}}
	r.next = p
	s.mu.Unlock()
	<-p.begin // nobody joins it any more
	defer s.end(id, r)
	defer close(p.done)
	s.carryOut(p.members)
	return m.refused, m.undurable
}

// end lets the next round begin, if anybody waits for it.
func (s *rounds) end(id inode, r *round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.next == nil {
		delete(s.under, id)
		return
	}
	close(r.next.begin)
	r.next = nil
}

// errCutShort is what a change came to of which it is not known.
var errCutShort = errors.New("the round of changes was cut short")

// carryOut makes the changes of all members, and those that were made durable.
func (s *rounds) carryOut(members []*member) {
	for _, m := range members {
		m.undurable = errCutShort // should one of them panic
	}
	made := members[:0:0]
	for _, m := range members {
		if m.refused = m.change(); m.refused == nil {
			made = append(made, m)
		} else {
			m.undurable = nil
		}
	}
	if len(made) == 0 {
		return
	}
	if s.each() {
		for _, m := range made {
			m.undurable = s.fsync(m.dir)
		}
		return
	}
	err := s.fsync(made[0].dir)
	if err != nil {
		s.mu.Lock()
		s.alone = true
		s.mu.Unlock()
	}
	for _, m := range made {
		m.undurable = err
	}
}

// each reports whether each change needs an fsync through its own descriptor.
func (s *rounds) each() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alone
}
