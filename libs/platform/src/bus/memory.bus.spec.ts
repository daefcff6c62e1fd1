import { describe } from '@jest/globals';

import { busContract, quietLogger } from '../../../../test/contracts/bus.contract.js';
import { MemoryBus } from './memory.bus.js';

describe('MemoryBus', () => {
  busContract({
    create: () => {
      const bus = new MemoryBus({ logger: quietLogger });
      return Promise.resolve([bus, bus]);
    },
  });
});
