import { expect, it } from 'vitest';
import type { Cluster } from '../../cluster/cluster.ts';
import type { Load } from '../../cluster/load.ts';
import { ROUNDS } from '../../cluster/rounds.ts';

it('a round whose fault cannot be caused reports that, so that it does not count as passed', async () => {
  const round = ROUNDS.find(({ name }) => name.startsWith('store restarts'));
  const onRealServer = { restartStore: () => false } as unknown as Cluster;
  expect(await round?.hurt(onRealServer, {} as Load)).toBe('this store is not ours to restart');
});
