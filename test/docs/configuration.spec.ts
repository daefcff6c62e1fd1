import { readFileSync, writeFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';

import { describeSettings } from '#platform';

const file = new URL('../../docs/configuration.md', import.meta.url);

function settingsTable(): string {
  const rows = describeSettings().map(
    ({ name, allowed, fallback, description }) =>
      `| \`${name}\` | ${allowed} | ${fallback === null ? '' : `\`${fallback}\``} | ${description} |`,
  );
  return ['| setting | allowed | default | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

describe('docs/configuration.md', () => {
  it('lists every setting as the code reads it', () => {
    const text = readFileSync(file, 'utf8');
    const generated = text.replace(
      /<!-- generated: settings -->[^]*<!-- end -->/,
      () => `<!-- generated: settings -->\n\n${settingsTable()}\n\n<!-- end -->`,
    );
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, generated);
    else expect(text).toBe(generated);
  });
});
