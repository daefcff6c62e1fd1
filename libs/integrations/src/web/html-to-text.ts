import { setImmediate } from 'node:timers/promises';

import { Parser } from 'htmlparser2';

/** A page as text. */
export interface ReadablePage {
  /** Empty when it has none. */
  readonly title: string;
  /** Headings, lists, tables and links as in Markdown; links in full. */
  readonly text: string;
}

/** Nothing in them is meant to be read, or it belongs to the frame of the page. */
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
/** Real pages stay below 100. The parser takes time that grows with the depth, so a deeper one is read up to there. */
const DEEPEST = 500;
/** A `main` or `article` with less than this is not what the page is about. */
const SHORTEST_MAIN = 200;

/**
 * Reads a page: without scripts, styles, navigation and forms, and only its `main` (or first `article`) where it has one of
 * some length. Lets others work in between. `url` is where the page came from; links are resolved against it.
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
    parser.write(html.slice(at, at + SLICE));
    await setImmediate();
  }
  if (!reader.isTooDeep) parser.end();
  return reader.page();
}

interface Element {
  readonly name: string;
  readonly link: (OpenLink & { readonly url: string }) | null;
  readonly isSkipped: boolean;
  /** Of a list its items, of a row its cells. */
  items: number;
  /** Where it begins in the text, and how much could be read before it. */
  readonly from: number;
  readonly read: number;
}

/** What a step asks for by kind, innermost last: looking through all that is open would take as long as the page is deep. */
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
    const target = name === 'a' && this.skipped === 0 ? linkTarget(attributes['href'], this.url) : null;
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
    if (element?.name !== name) return; // the parser closes what is open, innermost first
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

/** What no reader of the page sees is a place to hide orders to the model. */
function isHidden(attributes: Readonly<Record<string, string>>): boolean {
  const { hidden, style = '' } = attributes;
  return (
    hidden !== undefined || attributes['aria-hidden'] === 'true' || /display:\s?none|visibility:\s?hidden/i.test(style)
  );
}

/** Null for anchors within the page, mail addresses, scripts and the like. */
function linkTarget(href: string | undefined, base: string): string | null {
  if (href === undefined || href.startsWith('#') || href.length > 2_000) return null;
  const url = URL.parse(href, base);
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : null;
}

/** Where a link begins in the text, and how much could be read before it. */
interface OpenLink {
  readonly at: number;
  readonly read: number;
}

/**
 * Builds plain text the way a page is laid out: runs of white space are one space, blocks stand on lines of their own, at most
 * one empty line between them. Every step costs the same however long the text is.
 */
export class TextWriter {
  private readonly pieces: string[] = [];
  private breaks = 0;
  private hasSpace = false;
  /** Characters written that are no white space. */
  private read = 0;

  /** What is wanted of the text later: a mark for `since`. */
  get mark(): number {
    return this.pieces.length;
  }

  /** How much there is to read so far. */
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

  /** Text as it is, line breaks and all. */
  preformatted(text: string): void {
    if (text !== '') this.push(text);
  }

  /** Text that stands for itself, such as the dash of a list item; spaces before it are dropped. */
  sign(text: string): void {
    this.push(text);
    this.hasSpace = false;
  }

  /** The next text begins on a new line; with 2 after an empty one. */
  break(lines: 1 | 2): void {
    this.breaks = Math.max(this.breaks, lines);
    this.hasSpace = false;
  }

  openLink(): OpenLink {
    this.flush();
    this.pieces.push('');
    return { at: this.pieces.length - 1, read: this.read };
  }

  /** Marks everything since as a link, unless there was nothing to read. */
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
