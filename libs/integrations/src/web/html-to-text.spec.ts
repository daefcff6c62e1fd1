import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';

import { htmlToText, TextWriter } from './html-to-text.js';

const text = async (html: string) => (await htmlToText(html, 'https://a.test/dir/page')).text;

describe('htmlToText', () => {
  it('returns title, headings, paragraphs, lists, tables and links', async () => {
    const page = await htmlToText(
      `<html><head><title> A &amp;
        B </title><style>p{}</style></head><body><nav>menu</nav><h1>Hello</h1><p>One <b>two</b>
        <a href="../x?y=1&amp;z=2">three</a>.</p><ul><li>a<li>b<ol><li>c</li><li>d</li></ol></ul>
        <table><tr><th>K<th>V<tr><td>1<td>2</table><pre>  x
  y</pre>end<br>line<script>alert(1)</script></body>`,
      'https://a.test/dir/page',
    );
    expect(page.title).toBe('A & B');
    expect(page.text).toBe(
      [
        '# Hello', '', 'One two [three](https://a.test/x?y=1&z=2).', '', '- a', '- b', '  1. c', '  2. d', '', 'K | V', '1 | 2', '',
        '  x\n  y', '', 'end', 'line',
      ].join('\n'), // prettier-ignore
    );
  });

  it.each([
    ['<p>a<script>x</script><style>y</style><noscript>z</noscript><template>t</template>b', 'ab'],
    ['a<svg><title>s</title><text>t</text></svg>b', 'ab'],
    ['<button>b</button><select><option>o</select><textarea>t</textarea>a', 'a'],
    ['a<div hidden>h</div><p style="display: none">i</p><i aria-hidden="true">j</i> b', 'a\n\nb'],
    ['a<!-- c --> b &lt;i&gt; &#128512; &nosuch;', 'a b <i> 😀 &nosuch;'],
    ['<a href="#x">a</a> <a href="javascript:alert(1)">b</a> <a href="mailto:x@y">c</a> <a>d</a>', 'a b c d'],
    ['<a href="/x"><img src="y"></a>a', 'a'],
    ['<p>a</p>\n\n\n<div><div><p>b</p></div></div>', 'a\n\nb'],
    ['plain', 'plain'],
    ['', ''],
    ['<', '<'],
    ['</p></p>a</b>', 'a'],
  ])('reads %j as %j', async (html, expected) => {
    expect(await text(html)).toBe(expected);
  });

  it('returns the main part of a page that has one', async () => {
    const long = 'word '.repeat(60).trim();
    expect(await text(`<header>top</header><main><p>${long}</p></main><footer>bottom</footer>`)).toBe(long);
    expect(await text(`<div>top</div><article>${long}</article><article>other</article>`)).toBe(long);
    expect(await text('<header>top</header><main>short</main>')).toBe('top\n\nshort');
  });

  it('returns the first part with enough text, for any nesting of parts', async () => {
    const long = 'word '.repeat(60).trim();
    const inside = `<article>a<article>b</article><article>${long}</article></article><article>${long} c</article>`;
    expect(await text(`top${inside}bottom`)).toBe(long);
    expect(await text(`top<main>${' <article>a</article>'.repeat(3)}<p>${long}</main>bottom`)).toBe(
      `a\n\na\n\na\n\n${long}`,
    );
    expect(await text(`top<article><pre>${' '.repeat(300)}</pre></article>`)).toBe('top');
  });

  it('builds a text once for any number of candidates for the main part', async () => {
    const since = jest.spyOn(TextWriter.prototype, 'since');
    await text(`${'<article>'.repeat(400)}${'<a href=x></a>'.repeat(1_000)}x${'</article>'.repeat(400)}`);
    await text(`${'<article>'.repeat(400)}${'x'.repeat(300)}${'</article>'.repeat(400)}`);
    expect(since).toHaveBeenCalledTimes(2);
    since.mockRestore();
  });

  it.each([
    ['items of lists inside each other', `${'<ul>'.repeat(490)}${'<li>x</li>'.repeat(190_000)}`],
    ['elements inside each other', '<div>'.repeat(200_000)],
    ['lists inside each other', '<ul><li>x'.repeat(100_000)],
    ['links inside each other', '<a href=x>'.repeat(100_000)],
    ['tags that end nothing', `${'<b>'.repeat(400)}${'</i>'.repeat(300_000)}`],
    ['links in a row', '<a href=x>y</a>'.repeat(60_000)],
    ['attributes', `<p ${'a=b '.repeat(200_000)}>x`],
    ['comments that never end', '<!--'.repeat(200_000)],
    ['tables', '<table><tr><td>x'.repeat(50_000)],
    ['white space', ' \n'.repeat(500_000)],
  ])('reads a page that contains only %s', async (_, html) => {
    expect((await text(html)).length).toBeLessThanOrEqual(html.length * 3);
  });

  it('keeps only the text of links beyond the total length of URLs', async () => {
    const page = `https://example.com/${'x'.repeat(2_000)}/`;
    const { text: shown } = await htmlToText('<a href=y>z</a>'.repeat(60_000), page);
    expect(shown.length).toBeLessThan(3_000_000);
    expect(shown.endsWith('zzz')).toBe(true);
  });

  it('never throws and never outputs a script, for any page', async () => {
    const part = fc.constantFrom('<p>', '</p>', '<a href=x>', '</a>', '<pre>', '</pre>', '<li>', '<ul>', '</ul>', '<td>', '<tr>', '<main>', '</main>', '<title>', '</title>', 'x', ' ', '&lt;', '<h2>', '</h2>', '<br>', '<svg>', '</svg>'); // prettier-ignore
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(part, fc.string()), { maxLength: 60 }), async (parts) => {
        const html = `${parts.join('')}<script>canary()</script>`;
        expect(typeof (await text(html))).toBe('string');
      }),
    );
  });
});
