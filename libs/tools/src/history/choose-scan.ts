import type { IndexScan } from './index-scans.js';

/** How far a scan reaches within its limit: to its end, to the call of this id, or unknown. */
export type ScanEnd =
  { readonly type: 'end' } | { readonly type: 'at'; readonly id: string } | { readonly type: 'unknown' };

/** A trail with its end. */
export interface MeasuredScan {
  readonly trail: IndexScan;
  readonly end: ScanEnd;
}

/**
 * The trail a list by time is read along: the first that ends within its reach, since that answers everything; else the one
 * whose calls lie the furthest apart, so that a page gets the furthest. Null for trails that are of no use. Pure.
 */
export function chooseScan(measured: readonly MeasuredScan[], direction: 'asc' | 'desc'): MeasuredScan | null {
  const whole = measured.find(({ end }) => end.type === 'end');
  if (whole !== undefined) return whole;
  const further = (a: string, b: string) => (direction === 'desc' ? a < b : a > b);
  return measured.reduce<MeasuredScan | null>((best, next) => {
    if (next.end.type !== 'at') return best;
    return best?.end.type === 'at' && !further(next.end.id, best.end.id) ? best : next;
  }, null);
}
