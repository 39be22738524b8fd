import { describe, expect, it } from 'vitest';
import { createTokenBucketLimiter } from '../../../../src/adapters/memory/token-bucket.ts';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { startLiveSettings } from '../../../../src/composition/outside/live-settings.ts';
import { settingsCommands } from '../../../../src/operator/settings.ts';
import { OPERATOR_ACTS_STREAM } from '../../../../src/domain/values/streams.ts';
import type { JsonValue } from '../../../../src/ports/read-model/read-model.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';

const NOW_MS = 1_800_000_000_000;

async function running() {
  const log = { level: 'info' };
  const store = new MemoryEventStore();
  const storage = {
    rateLimiter: async (settings: { ratePerSec: number; burst: number }) => createTokenBucketLimiter(settings),
  };
  const config = { LOG_LEVEL: 'info', RATE_LIMIT_PER_KEY: 2, RATE_LIMIT_PER_ADDRESS: 1 } as const;
  const settings = await startLiveSettings({ config, log, storage, isApi: true });
  const warned: object[] = [];
  const commands = settingsCommands(
    settings,
    { store, clock: { nowMs: () => NOW_MS }, random: nodeRandom },
    (facts) => void warned.push(facts),
  );
  const set = (...changes: string[]): Promise<JsonValue> => commands['settings.set']!({ changes, operator: 'Ann' });
  const acts = async () => (await store.readStream(OPERATOR_ACTS_STREAM)).map(({ data }) => JSON.parse(data) as object);
  return { log, settings, commands, set, acts, warned };
}

describe('settings of a running service', () => {
  it('take effect, with who did what recorded in the event log and the log output', async () => {
    const { log, settings, set, acts, warned } = await running();
    expect((await settings.perKey.take('key', NOW_MS)).limit).toBe(10);
    await set('LOG_LEVEL=debug', 'RATE_LIMIT_PER_KEY=200', 'RATE_LIMIT_PER_ADDRESS=0');
    expect(log.level).toBe('debug');
    expect((await settings.perKey.take('key', NOW_MS)).limit).toBe(1000);
    expect(settings.perAddress.take('address', NOW_MS)).toMatchObject({ allowed: true, limit: 0 });
    const subject = 'LOG_LEVEL=debug RATE_LIMIT_PER_KEY=200 RATE_LIMIT_PER_ADDRESS=0';
    expect(await acts()).toMatchObject([{ act: 'settings.set', subject, actor: 'Ann' }]);
    expect(warned).toMatchObject([{ actor: 'Ann', changes: { LOG_LEVEL: 'debug' } }]);
  });

  it('shows the current values beside those of the start', async () => {
    const { set } = await running();
    const answer = await set('RATE_LIMIT_PER_KEY=3');
    expect(answer).toMatchObject({
      settings: [
        { name: 'LOG_LEVEL', value: 'info', at_start: 'info' },
        { name: 'RATE_LIMIT_PER_KEY', value: '3', at_start: '2' },
        { name: 'RATE_LIMIT_PER_ADDRESS', value: '1', at_start: '1' },
      ],
    });
  });

  it.each([
    [['LOG_LEVEL=debug', 'RATE_LIMIT_PER_KEY=many'], /^RATE_LIMIT_PER_KEY: .*nothing was changed$/],
    [['LOG_LEVEL=debug', 'RATE_LIMIT_PER_ADDRESS=-1'], /^RATE_LIMIT_PER_ADDRESS: /],
    [['LOG_LEVEL=debug', 'PORT=1'], /^PORT cannot change while the service runs/],
    [['LOG_LEVEL=loud'], /^LOG_LEVEL: /],
    [['LOG_LEVEL=debug', 'RATE_LIMIT_PER_KEY='], /^RATE_LIMIT_PER_KEY is empty/],
    [['LOG_LEVEL=debug', 'LOG_LEVEL=warn'], /LOG_LEVEL is named twice/],
    [['debug'], /entry 1 is not NAME=value/],
    [[], /changes is missing/],
  ] as const)('%j is refused as a whole, with the name of the setting', async (changes, words) => {
    const { log, settings, set, acts } = await running();
    await expect(set(...changes)).rejects.toThrow(words);
    expect([log.level, (await settings.perKey.take('key', NOW_MS)).limit, await acts()]).toEqual(['info', 10, []]);
  });
});
