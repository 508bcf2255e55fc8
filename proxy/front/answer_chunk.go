package front

import "strconv"

// frame is what a chunk may need around its content in out: a size of up to four
// digits, and two ends of lines.
const frame = 4 + 2 + 2

// hold adds p to the chunk at the end of what is held back: a handler may write
// in small pieces. What does not fit goes out as a chunk of its own.
func (a *answer) hold(p []byte) {
	if a.out == nil {
		a.out = outputs.Get().(*[]byte)
	}
	if len(p) > len(*a.out)-a.used-frame {
		a.send()
	}
	if len(p) > len(*a.out)-a.used-frame {
		a.addText(strconv.FormatInt(int64(len(p)), 16))
		a.addText("\r\n")
		a.add(p)
		a.addText("\r\n")
		return
	}
	if !a.open {
		a.open, a.start = true, a.used
	}
	a.used += copy((*a.out)[a.used:], p)
}

// closeChunk writes the size of the chunk in front of it.
func (a *answer) closeChunk() {
	if !a.open {
		return
	}
	a.open = false
	var size [frame]byte
	line := append(strconv.AppendInt(size[:0], int64(a.used-a.start), 16), '\r', '\n')
	out := *a.out
	copy(out[a.start+len(line):], out[a.start:a.used])
	copy(out[a.start:], line)
	a.used += len(line)
	a.used += copy(out[a.used:], "\r\n")
}
