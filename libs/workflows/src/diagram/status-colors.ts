import type { NodeRunStatus } from '../engine/node-run.js';

export interface StatusColors {
  readonly fill: string;
  readonly stroke: string;
}

/** Dark text on each fill has a contrast of at least 7 (WCAG 2.2, 1.4.6); the status is written out as well. */
export const STATUS_COLORS: Readonly<Record<NodeRunStatus, StatusColors>> = {
  pending: { fill: '#f1f3f5', stroke: '#868e96' },
  active: { fill: '#d0ebff', stroke: '#1971c2' },
  waiting: { fill: '#fff3bf', stroke: '#e67700' },
  completed: { fill: '#d3f9d8', stroke: '#2b8a3e' },
  error: { fill: '#ffe3e3', stroke: '#c92a2a' },
  skipped: { fill: '#ffffff', stroke: '#adb5bd' },
  cancelled: { fill: '#e9ecef', stroke: '#495057' },
};
