import { Parser } from 'htmlparser2';

import { timeSlice } from '#platform';

/** A page as text. */
export interface ReadablePage {
  /** Empty if the page has no title. */
  readonly title: string;
  /** Headings, lists, tables and links in Markdown; URLs of links are absolute. */
  readonly text: string;
}

/** Elements without readable content, or which belong to the frame of the page. */
const SKIPPED = new Set([
  'script', 'style', 'noscript', 'template', 'svg', 'math', 'iframe', 'object', 'canvas', 'audio', 'video', 'nav', 'button',
  'select', 'textarea', 'dialog',
]); // prettier-ignore
const PARAGRAPHS = new Set([
  'p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'dl', 'table', 'pre', 'blockquote', 'figure', 'section', 'article', 'main',
  'header', 'footer', 'aside', 'hr',
]); // prettier-ignore
const LINES = new Set([
  'div', 'li', 'tr', 'dt', 'dd', 'br', 'address', 'figcaption', 'details', 'summary', 'form', 'fieldset', 'caption',
]); // prettier-ignore

const SLICE = 65_536;
/** Maximum length of the URLs of a page together; later links are plain text. A relative URL of a few characters may become a long one. */
const LONGEST_LINKS = 2_097_152;
/** Maximum depth. Real pages stay below 100. The time of the parser grows with the depth, so deeper content is not read. */
const DEEPEST = 500;
/** A `main` or `article` with less text than this is not the main content. */
const SHORTEST_MAIN = 200;

/**
 * Converts a page to text, without scripts, styles, navigation and forms. If the page has a `main` (or else a first `article`) with enough text,
 * only that is converted. Yields to other work in between. `url` is the address of the page, for relative links.
 */
export async function htmlToText(html: string, url: string): Promise<ReadablePage> {
  const reader = new PageReader(url);
  const parser = new Parser({
    onopentag: (name, attributes) => {
      reader.open(name, attributes);
    },
    ontext: (text) => {
      reader.text(text);
    },
    onclosetag: (name) => {
      reader.close(name);
    },
  });
  for (let at = 0; at < html.length && !reader.isTooDeep; at += SLICE) {
    if (timeSlice.isOver) await timeSlice.nextTurn();
    parser.write(html.slice(at, at + SLICE));
  }
  if (!reader.isTooDeep) parser.end();
  return reader.page();
}

interface Element {
  readonly name: string;
  readonly link: (OpenLink & { readonly url: string }) | null;
  readonly isSkipped: boolean;
  /** The number of items of a list, or of cells of a row. */
  items: number;
  /** `from`: where the element begins in the text; `read`: the number of readable characters before it. */
  readonly from: number;
  readonly read: number;
}

/**
 * The kinds of open elements that the writer looks up, innermost last. Searching all open elements would take time that grows with the depth.
 */
type Kind = 'list' | 'item' | 'row';
const KINDS = new Map<string, Kind>([['ul', 'list'], ['ol', 'list'], ['li', 'item'], ['tr', 'row']]); // prettier-ignore

class PageReader {
  private readonly writer = new TextWriter();
  private readonly elements: Element[] = [];
  private readonly opened: Readonly<Record<Kind, Element[]>> = { list: [], item: [], row: [] };
  private skipped = 0;
  private preformatted = 0;
  private title = '';
  private main: { readonly from: number; readonly to: number } | null = null;
  private depth = 0;
  private linksLength = 0;

  constructor(private readonly url: string) {}

  get isTooDeep(): boolean {
    return this.depth > DEEPEST;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    this.depth++;
    if (this.isTooDeep) return;
    const isSkipped = SKIPPED.has(name) || isHidden(attributes);
    if (isSkipped) this.skipped++;
    if (name === 'pre') this.preformatted++;
    if (this.skipped === 0) this.begin(name);
    const hasLink = name === 'a' && this.skipped === 0 && this.linksLength < LONGEST_LINKS;
    const target = hasLink ? linkTarget(attributes['href'], this.url) : null;
    this.linksLength += target?.length ?? 0;
    const link = target === null ? null : { ...this.writer.openLink(), url: target };
    const element = { name, link, isSkipped, items: 0, from: this.writer.mark, read: this.writer.length };
    this.elements.push(element);
    this.sameKind(name)?.push(element);
  }

  text(text: string): void {
    if (this.isTooDeep || this.skipped > 0) return;
    const name = this.elements.at(-1)?.name;
    if (name === 'title') this.title += text;
    else if (this.preformatted > 0) this.writer.preformatted(text);
    else if (name !== 'head') this.writer.text(text);
  }

  close(name: string): void {
    this.depth--;
    const element = this.elements.at(-1);
    if (element?.name !== name) return; // the parser closes open elements, innermost first
    this.elements.pop();
    this.sameKind(name)?.pop();
    if (element.isSkipped) this.skipped--;
    if (name === 'pre') this.preformatted--;
    if (element.link !== null) this.writer.closeLink(element.link, element.link.url);
    const isMain = (name === 'main' || name === 'article') && this.writer.length - element.read >= SHORTEST_MAIN;
    if (isMain) this.main ??= { from: element.from, to: this.writer.mark };
    if (this.skipped === 0) this.separate(name);
  }

  page(): ReadablePage {
    const main = this.main === null ? '' : this.writer.since(this.main.from, this.main.to);
    const text = main.length < SHORTEST_MAIN ? this.writer.toString() : main;
    return { title: this.title.replace(/\s+/g, ' ').trim(), text };
  }

  private begin(name: string): void {
    this.separate(name);
    if (/^h[1-6]$/.test(name)) this.writer.sign(`${'#'.repeat(Number(name[1]))} `);
    else if (name === 'li') this.writer.sign(this.nextItem());
    else if ((name === 'td' || name === 'th') && this.nextCell() > 1) this.writer.sign(' | ');
  }

  private separate(name: string): void {
    const isInner = KINDS.get(name) === 'list' && this.opened.item.length > 0;
    if (PARAGRAPHS.has(name) && !isInner) this.writer.break(2);
    else if (PARAGRAPHS.has(name) || LINES.has(name)) this.writer.break(1);
  }

  private nextItem(): string {
    const { list: lists } = this.opened;
    const list = lists.at(-1);
    const indent = '  '.repeat(Math.min(Math.max(lists.length - 1, 0), 10));
    if (list?.name !== 'ol') return `${indent}- `;
    list.items++;
    return `${indent}${list.items}. `;
  }

  private nextCell(): number {
    const row = this.opened.row.at(-1);
    if (row === undefined) return 1;
    return ++row.items;
  }

  private sameKind(name: string): Element[] | null {
    const kind = KINDS.get(name);
    return kind === undefined ? null : this.opened[kind];
  }
}

/** Hidden text may contain instructions for the model, which a reader of the page would not see. */
function isHidden(attributes: Readonly<Record<string, string>>): boolean {
  const { hidden, style = '' } = attributes;
  return (
    hidden !== undefined || attributes['aria-hidden'] === 'true' || /display:\s?none|visibility:\s?hidden/i.test(style)
  );
}

/** Returns null for anchors within the page, mail addresses, scripts and similar links. */
function linkTarget(href: string | undefined, base: string): string | null {
  if (href === undefined || href.startsWith('#') || href.length > 2_000) return null;
  const url = URL.parse(href, base);
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : null;
}

/** Where a link begins in the text, and the number of readable characters before it. */
interface OpenLink {
  readonly at: number;
  readonly read: number;
}

/**
 * Builds plain text in the layout of a page: white space collapses to one space, blocks have their own lines, with at most one empty line
 * between them. Each step takes constant time, for any length of the text.
 */
export class TextWriter {
  private readonly pieces: string[] = [];
  private breaks = 0;
  private hasSpace = false;
  /** The number of characters that are not white space. */
  private read = 0;

  /** A position for a later call of `since`. */
  get mark(): number {
    return this.pieces.length;
  }

  /** The number of readable characters so far. */
  get length(): number {
    return this.read;
  }

  text(text: string): void {
    const words = text.replace(/[\s\u00a0]+/g, ' ');
    const inner = words.trim();
    if (words.startsWith(' ')) this.space();
    if (inner === '') return;
    this.push(inner);
    if (words.endsWith(' ')) this.space();
  }

  /** Appends text unchanged, with its line breaks. */
  preformatted(text: string): void {
    if (text !== '') this.push(text);
  }

  /** Appends text such as the dash of a list item; spaces before it are dropped. */
  sign(text: string): void {
    this.push(text);
    this.hasSpace = false;
  }

  /** Begins a new line; with 2, after an empty line. */
  break(lines: 1 | 2): void {
    this.breaks = Math.max(this.breaks, lines);
    this.hasSpace = false;
  }

  openLink(): OpenLink {
    this.flush();
    this.pieces.push('');
    return { at: this.pieces.length - 1, read: this.read };
  }

  /** Turns the text since `at` into a link, unless it has no readable characters. */
  closeLink({ at, read }: OpenLink, url: string): void {
    if (this.read === read) return;
    this.pieces[at] = '[';
    this.pieces.push(`](${url})`);
  }

  toString(): string {
    return this.since(0, this.mark);
  }

  since(from: number, to: number): string {
    return this.pieces.slice(from, to).join('').trim();
  }

  private space(): void {
    this.hasSpace = this.breaks === 0 && this.pieces.length > 0;
  }

  private push(text: string): void {
    this.flush();
    this.pieces.push(text);
    this.read += text.length;
  }

  private flush(): void {
    if (this.breaks > 0 && this.read > 0) this.pieces.push('\n'.repeat(this.breaks));
    else if (this.hasSpace) this.pieces.push(' ');
    this.breaks = 0;
    this.hasSpace = false;
  }
}
