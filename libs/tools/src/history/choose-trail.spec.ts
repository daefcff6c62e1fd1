import { describe, expect, it } from '@jest/globals';

import { chooseTrail, type MeasuredTrail, type TrailEnd } from './choose-trail.js';
import { type Trail, wayThroughAll } from './trails.js';

const trail = (aspect: Trail['aspect']): Trail => ({ ...wayThroughAll, aspect });
const measured = (aspect: Trail['aspect'], end: TrailEnd): MeasuredTrail => ({ trail: trail(aspect), end });
const at = (id: string): TrailEnd => ({ type: 'at', id });
const chosen = (list: readonly MeasuredTrail[], direction: 'asc' | 'desc') =>
  chooseTrail(list, direction)?.trail.aspect ?? null;

describe('the trail a list is read along', () => {
  it('is the first that ends within its reach', () => {
    const list = [measured('user', at('5')), measured('tool', { type: 'end' }), measured('outcome', { type: 'end' })];
    expect(chosen(list, 'desc')).toBe('tool');
  });

  it('else the one whose calls lie the furthest apart', () => {
    const list = [measured('user', at('5')), measured('tool', at('3')), measured('time', at('8'))];
    expect(chosen(list, 'desc')).toBe('tool');
    expect(chosen(list, 'asc')).toBe('time');
  });

  it('is none of those that get nowhere', () => {
    expect(chosen([measured('duration', { type: 'unknown' }), measured('time', at('8'))], 'desc')).toBe('time');
    expect(chosen([measured('duration', { type: 'unknown' })], 'desc')).toBeNull();
  });

  it('is the narrower kind when two lead equally far', () => {
    expect(chosen([measured('user', at('5')), measured('time', at('5'))], 'desc')).toBe('user');
  });
});
