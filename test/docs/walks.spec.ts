import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** One file of a walk: "`file.ts` (`Symbol`, `method`): text. **Link:** text." */
interface Stop {
  /** The path; of a file that the first walk has, only its name. */
  readonly file: string;
  /** Set for a file of the first walk: the number of its step there. */
  readonly step: number | null;
  readonly symbols: readonly string[];
  readonly text: string;
  /** The text after "Link:" names what the file does not contain. */
  readonly link: string;
}

interface Step {
  /** The title and the text that belongs to no file. */
  readonly text: string;
  readonly stops: readonly Stop[];
}

interface Walk {
  readonly title: string;
  readonly most: number;
  readonly steps: readonly Step[];
}

const codeIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

function toStop(line: string): Stop {
  const [, step, file = line, symbols = '', rest = ''] =
    /^(?:First walk, step (\d+): )?`([^`]+)` \(([^)]*)\): (.*)$/.exec(line) ?? [];
  const [text = '', link = ''] = rest.split('**Link:**');
  return { file, step: step === undefined ? null : Number(step), symbols: codeIn(symbols), text, link };
}

/** `block`: a numbered item, whose paragraphs and list items are continued on indented lines. */
function toStep(block: string): Step {
  const paragraphs = block.split(/\n(?= {3}- )|\n\n/).map((paragraph) => paragraph.replace(/\s+/g, ' ').trim());
  const isStop = (paragraph: string) => paragraph.startsWith('- ');
  return {
    text: paragraphs.filter((paragraph) => !isStop(paragraph)).join(' '),
    stops: paragraphs.filter(isStop).map((paragraph) => toStop(paragraph.slice(2))),
  };
}

function toWalk([, title = '', most, body = '']: RegExpExecArray): Walk {
  return {
    title,
    most: Number(most),
    steps: body
      .split(/^\d+\. /m)
      .slice(1)
      .map(toStep),
  };
}

const [, section = ''] = read('ARCHITECTURE.md').split('## Walk through the code');
const walks = [
  ...(section.split('\n## ')[0] ?? '').matchAll(
    /^\*\*([^\n]+)\*\* \(at most (\d+) files\)\n([\s\S]*?)(?=^\*\*|(?![\s\S]))/gm,
  ),
].map(toWalk);

const stopsOf = ({ steps }: Walk) => steps.flatMap(({ stops }) => stops);

/** The path of a stop's file. A file of the first walk is found in the step that the stop names. */
function pathOf({ file, step }: Stop): string {
  if (step === null) return file;
  const stops = walks[0]?.steps[step - 1]?.stops ?? [];
  return stops.find((stop) => basename(stop.file) === file)?.file ?? `${file} is not in step ${step} of the first walk`;
}

const ownFiles = (walk: Walk) => stopsOf(walk).flatMap(({ file, step }) => (step === null ? [file] : []));
const sourceOf = (path: string) => (existsSync(join(root, path)) ? read(path) : '');

/** The files that a file imports: relative ones by their path, those of another lib by the exported names. */
function importsOf(file: string): { readonly files: readonly string[]; readonly names: ReadonlySet<string> } {
  const statements = [...read(file).matchAll(/import\s+(?:type\s+)?(?:\{([^}]*)\}|\w+)?[^']*?from '([^']+)'/g)];
  const files = statements
    .filter(([, , from = '']) => from.startsWith('.'))
    .map(([, , from = '']) => normalize(join(dirname(file), from)).replace(/\.js$/, '.ts'));
  const names = statements
    .filter(([, , from = '']) => from.startsWith('#'))
    .flatMap(([, list = '']) => list.split(',').map((name) => name.trim().replace(/^type /, '')));
  return { files, names: new Set(names) };
}

function exportsOf(file: string): readonly string[] {
  return [
    ...read(file).matchAll(/^export (?:abstract )?(?:async )?(?:class|function\*?|const|interface|type) (\w+)/gm),
  ].map(([, name = '']) => name);
}

function doesImport(from: string, to: string): boolean {
  const { files, names } = importsOf(from);
  return files.includes(to) || exportsOf(to).some((name) => names.has(name));
}

/** Whether an import, or a text after "Link:", connects two files. */
function isConnected(one: Stop, other: Stop): boolean {
  const [from, to] = [pathOf(one), pathOf(other)];
  if (doesImport(from, to) || doesImport(to, from)) return true;
  const linked = [one, other].map(({ link }) => new Set(codeIn(link).flatMap(namesIn)));
  return other.symbols.some((name) => linked[0]?.has(name)) || one.symbols.some((name) => linked[1]?.has(name));
}

/** The stops that nothing connects to the rest of their walk. */
function unconnected(stops: readonly Stop[]): readonly Stop[] {
  const reached = new Set(stops.slice(0, 1));
  for (let before = 0; before !== reached.size;) {
    before = reached.size;
    for (const stop of stops)
      if (!reached.has(stop) && [...reached].some((other) => isConnected(other, stop))) reached.add(stop);
  }
  return stops.filter((stop) => !reached.has(stop));
}

/** The names in a code such as `this.chat.start`, `JobStarter` or `job-runnable`. */
const namesIn = (code: string) => code.split('.').filter((name) => name !== 'this');

function has(source: string, name: string): boolean {
  return new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(source);
}

/** `name in file` for each name that the text of a stop has and its file lacks. */
function missingNames(stop: Stop): readonly string[] {
  const source = sourceOf(pathOf(stop));
  const names = [...stop.symbols, ...codeIn(stop.text)].flatMap((code) => (source.includes(code) ? [] : namesIn(code)));
  return names.filter((name) => !has(source, name)).map((name) => `${name} in ${stop.file}`);
}

/** The stops that the reader cannot find: no earlier file of the walk contains a name of theirs, and no text connects them. */
function unannounced(walk: Walk): readonly string[] {
  const earlier: string[] = [];
  return walk.steps.flatMap(({ text, stops }, at) =>
    stops.flatMap((stop, i) => {
      const before = earlier.join('\n');
      const previous = i === 0 ? text : `${stops[i - 1]?.link ?? ''} ${stops[i - 1]?.text ?? ''}`;
      earlier.push(sourceOf(pathOf(stop)));
      const isStart = (at === 0 && i === 0) || text.startsWith('**New entry point');
      const isKnown =
        stop.step !== null || exportsOf(stop.file).some((name) => has(before, name) || has(previous, name));
      return isStart || isKnown ? [] : [stop.file];
    }),
  );
}

describe('the walks of ARCHITECTURE.md', () => {
  const sources = globSync('{libs,apps}/*/src/**/*.ts', { cwd: root })
    .filter((file) => !/spec\.ts$|generated/.test(file))
    .map(read)
    .join('\n');

  it('describe a chat, an approval and a workflow', () => {
    expect(walks.map(({ title }) => title)).toEqual([
      'A chat message becomes a delta',
      'A person approves a tool call',
      'A workflow runs an agent node',
    ]);
    expect(walks.every(({ steps }) => steps.length >= 5)).toBe(true);
  });

  it.each(walks)('name existing files, each once, and no more than a reader has time for: $title', (walk) => {
    const files = ownFiles(walk);
    expect(stopsOf(walk).filter((stop) => !existsSync(join(root, pathOf(stop))))).toEqual([]);
    expect(new Set(files).size).toBe(files.length);
    expect(files.length).toBeLessThanOrEqual(walk.most);
  });

  it.each(walks)('name files that imports or links connect: $title', (walk) => {
    expect(unconnected(stopsOf(walk)).map(pathOf)).toEqual([]);
  });

  it.each(walks)('name symbols that their files contain: $title', (walk) => {
    expect(stopsOf(walk).filter(({ symbols }) => symbols.length === 0)).toEqual([]);
    expect(stopsOf(walk).flatMap(missingNames)).toEqual([]);
  });

  it.each(walks)('name existing code in the text between their files: $title', (walk) => {
    const texts = [...walk.steps.map(({ text }) => text), ...stopsOf(walk).map(({ link }) => link)];
    const names = texts.flatMap(codeIn).flatMap(namesIn);
    expect(names.filter((name) => !has(sources, name))).toEqual([]);
  });

  it.each(walks)('lead to each file by a name that was shown before: $title', (walk) => {
    expect(unannounced(walk)).toEqual([]);
  });
});
