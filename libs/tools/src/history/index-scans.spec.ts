import { describe, expect, it } from '@jest/globals';

import { chooseScan, fullScan, type IndexScan, type MeasuredScan, type ScanEnd } from './index-scans.js';

const trail = (aspect: IndexScan['aspect']): IndexScan => ({ ...fullScan, aspect });
const measured = (aspect: IndexScan['aspect'], end: ScanEnd): MeasuredScan => ({ trail: trail(aspect), end });
const at = (id: string): ScanEnd => ({ type: 'at', id });
const chosen = (list: readonly MeasuredScan[], direction: 'asc' | 'desc') =>
  chooseScan(list, direction)?.trail.aspect ?? null;

describe('the index scan for a list', () => {
  it('selects the first scan that ends within its limit', () => {
    const list = [measured('user', at('5')), measured('tool', { type: 'end' }), measured('outcome', { type: 'end' })];
    expect(chosen(list, 'desc')).toBe('tool');
  });

  it('selects the scan that covers the longest time if none ends within its limit', () => {
    const list = [measured('user', at('5')), measured('tool', at('3')), measured('time', at('8'))];
    expect(chosen(list, 'desc')).toBe('tool');
    expect(chosen(list, 'asc')).toBe('time');
  });

  it('never selects a scan without progress', () => {
    expect(chosen([measured('duration', { type: 'unknown' }), measured('time', at('8'))], 'desc')).toBe('time');
    expect(chosen([measured('duration', { type: 'unknown' })], 'desc')).toBeNull();
  });

  it('selects the more selective scan when two cover the same time', () => {
    expect(chosen([measured('user', at('5')), measured('time', at('5'))], 'desc')).toBe('user');
  });
});
