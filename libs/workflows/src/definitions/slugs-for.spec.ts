import { describe, expect, it } from '@jest/globals';

import { slugsFor } from './slugs-for.js';

const id = '0192a3b4-0000-7000-8000-00000abcdef0';

describe('the slugs for a workflow', () => {
  it('consist of its name, then the name with a piece of its id, then its id', () => {
    expect(slugsFor({ id, name: 'Weekly Report!' })).toEqual([
      ...['weekly-report', 'weekly-report-bcdef0', `workflow-${id}`],
    ]);
    expect(slugsFor({ id, name: '日本' })).toEqual(['workflow-bcdef0', `workflow-${id}`]);
  });

  it('form tool names that every model accepts', () => {
    for (const slug of slugsFor({ id, name: 'Résumé '.repeat(50) }))
      expect(`workflow.${slug}`).toMatch(/^[\w.-]{1,64}$/);
  });
});
