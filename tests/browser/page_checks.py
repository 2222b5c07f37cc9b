"""What holds for every page, as a table: each check is looked at by one script that answers with what is wrong.

Spacing comes from tokens: `static/build/check-tokens.mjs` looks at the sheets for that, and not at pages."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

from tests.fixtures.browser import DESKTOP, PHONE

SCREENS: dict[str, dict[str, Any]] = {
    "1440": {"viewport": DESKTOP},
    "390": {"viewport": PHONE, "has_touch": True, "is_mobile": True},
}
"""A mouse, and a finger."""
SHOWN = """const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    && e.getBoundingClientRect().width > 1 && !e.closest('.visually-hidden');
  const name = (e) => e.outerHTML.replace(/\\s+/g, ' ').slice(0, 110);"""

CHECKS: dict[str, str] = {
    "no browser date field": """
        document.querySelectorAll('input:is([type=date], [type=time], [type=datetime-local], [type=month])')""",
    "an empty state leads on": """
        [...document.querySelectorAll('.empty')].filter((e) => shown(e) && !e.querySelector('a, button'))""",
    "forms have one width": """
        innerWidth < 900 ? [] : [...document.querySelectorAll('.content .form:not(.form .form)')].filter((e) =>
          shown(e) && e.getBoundingClientRect().width > 641)""",
    "no word is broken": """
        (() => {
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), broken = [];
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const parent = node.parentElement;
            if (!parent || !shown(parent)) continue;
            if (parent.closest('svg, code, pre, .mono, .copyable, textarea, select')) continue;
            for (const word of node.data.matchAll(/\\p{L}{3,20}/gu)) {
              const range = document.createRange();
              range.setStart(node, word.index);
              range.setEnd(node, word.index + word[0].length);
              const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
              if (tops.size > 1) { broken.push(parent); break; }
            }
          }
          return broken;
        })()""",
    "nothing is cut without a sign": """
        [...document.querySelectorAll('main *, header *, section *')].filter((e) => {
          const style = getComputedStyle(e);
          return shown(e) && e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1 && !e.closest('svg, .react-flow')
            && ['hidden', 'clip'].includes(style.overflowX) && style.textOverflow !== 'ellipsis'
            && e.innerText?.trim() && !e.matches('.react-flow, .ed-palette');
        })""",
    "what scrolls sideways fades where there is more": """
        [...document.querySelectorAll('body *')].filter((e) => {
          const style = getComputedStyle(e), hidden = e.scrollWidth - e.clientWidth;
          if (!shown(e) || !['auto', 'scroll'].includes(style.overflowX) || hidden < 2) return false;
          if (e.closest('svg, .react-flow, textarea, input, select')) return false;
          const fades = (edge) => {
            const veil = getComputedStyle(e, `::${edge}`);
            if (veil.position === 'sticky') return parseFloat(veil.opacity) > 0;
            return style.maskImage !== 'none' && parseFloat(style.getPropertyValue(`--more-${edge}`)) > 0;
          };
          return fades('before') !== e.scrollLeft > 1 || fades('after') !== e.scrollLeft < hidden - 1;
        })""",
    "targets are 44 px high for a finger": """
        !matchMedia('(pointer: coarse)').matches ? [] :
        [...document.querySelectorAll('a[href], button, summary, select, label:has(> input), input:not([type=hidden])')]
          .filter((e) => {
            const box = e.getBoundingClientRect();
            const within = e.matches('input') && e.closest('label');
            // A link among the words of a sentence is as high as they are.
            const inline = getComputedStyle(e).display === 'inline'
              && e.parentElement.textContent.trim() !== e.textContent.trim();
            // A line of code is no higher; the title of a card is as large as the card.
            return shown(e) && !within && !inline && box.height < 43.5
              && !e.closest('svg, .react-flow, .diff') && !e.matches('.inline, .task-card-title');
          })""",
}
"""{what holds: the elements where it does not}"""


def unmet_checks(page: Page) -> list[str]:
    """Return what does not hold on this page, each with the first three elements."""
    wrong = []
    for check, elements in CHECKS.items():
        script = f"() => {{ {SHOWN} const all = [...({elements})]; return [all.length, all.slice(0, 3).map(name)]; }}"
        count, first = page.evaluate(script)
        if count:
            wrong.append(f"{check}: {count}, such as {' | '.join(first)}")
    return wrong
