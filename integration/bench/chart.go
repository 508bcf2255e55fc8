package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

// What a chart looks like, in px. Its axis is logarithmic, so that half as fast
// and twice as fast are equally long.
const (
	chartLeft, chartWidth = 330.0, 480.0
	chartTop, chartRow    = 70.0, 24.0
	chartRight            = 130.0 // for numbers beside bars
	leastPower, mostPower = -2, 5 // of 2: the ends of the axis
)

// placeOf returns where a ratio is on the axis; one beyond it is at its end.
func placeOf(ratio float64) float64 {
	power := leastPower - 1.0
	if ratio > 0 {
		power = math.Log2(ratio)
	}
	power = max(leastPower, min(mostPower, power))
	return chartLeft + (power-leastPower)/(mostPower-leastPower)*chartWidth
}

// chart draws the ratios of rates, one bar each, from 1 to the median. A thin
// line is from the lowest to the highest round, a red one is what is wanted.
func (r *report) chart() []byte {
	var rows bytes.Buffer
	y := chartTop
	for _, c := range r.Cases {
		for _, n := range c.Ratios {
			if !n.rates() { // less is better there, which does not go with the others
				continue
			}
			from, to := min(placeOf(1), placeOf(n.Ratio.Median)), max(placeOf(1), placeOf(n.Ratio.Median))
			colour := "#4c78a8"
			if n.Target != "" && !n.Met {
				colour = "#e0a030"
			}
			middle := y + chartRow/2
			fmt.Fprintf(&rows, `<text x="%.0f" y="%.0f" text-anchor="end">%s : %s</text>`+"\n", chartLeft-10, middle+4, html.EscapeString(c.Name), html.EscapeString(n.Against))
			fmt.Fprintf(&rows, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", from, y+4, max(1, to-from), chartRow-8, colour)
			fmt.Fprintf(&rows, `<path d="M%.1f %.1fH%.1f" stroke="#222"/>`+"\n", placeOf(n.Ratio.Min), middle, placeOf(n.Ratio.Max))
			var target float64
			if _, err := fmt.Sscanf(n.Target, "≥ %f", &target); err == nil {
				fmt.Fprintf(&rows, `<path d="M%.1f %.1fV%.1f" stroke="#c00" stroke-width="2"/>`+"\n", placeOf(target), y+1, y+chartRow-1)
			}
			fmt.Fprintf(&rows, `<text x="%.1f" y="%.1f">%.2f</text>`+"\n", max(to, placeOf(n.Ratio.Max))+6, middle+4, n.Ratio.Median)
			y += chartRow
		}
	}
	var b bytes.Buffer
	width, height := chartLeft+chartWidth+chartRight, y+30
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n"+`<text x="10" y="22" font-size="16">Requests per second of one case : another, within the round</text>`+"\n")
	fmt.Fprintf(&b, `<text x="10" y="42" fill="#555">bar: median, line: lowest to highest round, red: wanted (orange bar: missed); %s, fencegate %s, %d cores</text>`+"\n",
		html.EscapeString(r.About.Date), html.EscapeString(r.About.Commit), r.About.Cores)
	for power := leastPower; power <= mostPower; power++ {
		ratio := math.Pow(2, float64(power))
		colour := "#ddd"
		if power == 0 {
			colour = "#888"
		}
		fmt.Fprintf(&b, `<path d="M%.1f %.0fV%.0f" stroke="%s"/><text x="%.1f" y="%.0f" text-anchor="middle" fill="#555">%g</text>`+"\n",
			placeOf(ratio), chartTop-4, y, colour, placeOf(ratio), chartTop-10, ratio)
	}
	b.Write(rows.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}
