import type { InterruptFieldsFragment } from './generated/graphql.js';

/** A request that a job waits for: docs/interrupts.md. */
export type Interrupt = InterruptFieldsFragment;
