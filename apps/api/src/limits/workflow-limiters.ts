import { StartLimiter } from './start-limiter.js';

/** Starts of workflows a minute for each principal. */
export class WorkflowStartLimiter extends StartLimiter {}

/** Answers to the questions of workflows a minute for each principal, at the route that OR3 clients know. */
export class HitlLimiter extends StartLimiter {}
