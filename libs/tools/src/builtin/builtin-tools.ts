import type { Tool } from '../tool.js';
import { addNumbers } from './add-numbers.tool.js';
import { askPerson } from './ask-person.tool.js';
import { calculateTool } from './calculate.tool.js';
import { getCurrentTime } from './get-current-time.tool.js';

/** The tools that every installation has. */
export const BUILTIN_TOOLS: readonly Tool[] = [getCurrentTime, calculateTool, addNumbers, askPerson];
