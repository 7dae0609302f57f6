// What scrolls sideways can be reached by keyboard, and what has no name is given one; also what the theme adds later.
const mend = () => {
  for (const block of document.querySelectorAll("pre, .md-typeset__scrollwrap")) block.tabIndex = 0;
  for (const part of document.querySelectorAll("#__search, .md-search")) part.setAttribute("aria-label", "Search");
};
mend();
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
