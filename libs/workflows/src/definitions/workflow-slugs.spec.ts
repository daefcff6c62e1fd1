import { describe, expect, it } from '@jest/globals';

import { workflowsBySlug } from './workflow-slugs.js';

const workflow = (id: string, name: string) => ({ id, name });

describe('the slugs of workflows', () => {
  it('are their names, and those of the oldest where names agree', () => {
    const young = workflow('0192-bbbbbb', 'Weekly Report');
    const old = workflow('0191-aaaaaa', 'weekly report!');
    const slugs = workflowsBySlug([young, old, workflow('0193-cccccc', 'Letters'), workflow('0194-dddddd', '日本')]);
    expect([...slugs.keys()]).toEqual(['weekly-report-bbbbbb', 'weekly-report', 'letters', 'workflow-dddddd']);
    expect(slugs.get('weekly-report')).toBe(old);
    expect(slugs.get('weekly-report-bbbbbb')).toBe(young);
  });
});
