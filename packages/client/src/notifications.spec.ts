import { describe, expect, it } from '@jest/globals';

import { DeliveredNotifications } from './notifications.js';

describe('DeliveredNotifications', () => {
  it('delivers a notification again only after it was read', () => {
    const delivered = new DeliveredNotifications();
    const heard = [
      { id: 'a', read: false },
      { id: 'b', read: false },
      { id: 'a', read: false },
      { id: 'a', read: true },
      { id: 'a', read: true },
    ];
    expect(heard.map((one) => delivered.isNew(one))).toEqual([true, true, false, true, false]);
  });

  it('forgets a notification after as many newer ones as the server keeps', () => {
    const delivered = new DeliveredNotifications();
    const deliver = (id: number) => delivered.isNew({ id: String(id), read: false });
    for (let id = 0; id < 1_001; id += 1) expect(deliver(id)).toBe(true);
    expect([deliver(1_000), deliver(1), deliver(0)]).toEqual([false, false, true]);
  });
});
