//! A drawing of the page as a file of its own: with the colours and letters it has here.

const KEPT = ["fill", "stroke", "stroke-width", "font-family", "font-size", "text-anchor"] as const;

export function standaloneSvg(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const [before, after] = [drawing, copy].map((svg) => [svg, ...svg.querySelectorAll<SVGElement>("*")]) as [SVGElement[], SVGElement[]];
  after.forEach((part, place) => {
    const styles = getComputedStyle(before[place] as SVGElement);
    for (const name of KEPT) part.setAttribute(name, styles.getPropertyValue(name));
    part.removeAttribute("class");
  });
  const { width, height } = drawing.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width * 2));
  copy.setAttribute("height", String(height * 2));
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", getComputedStyle(drawing.closest(".inspector") ?? document.body).backgroundColor);
  copy.prepend(ground);
  return `${new XMLSerializer().serializeToString(copy)}\n`;
}
