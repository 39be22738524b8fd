import { describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { liveProviders } from '../../../../src/composition/networks/live-providers.ts';
import { type RunningAccess } from '../../../../src/settings/network-access.ts';
import { lookAtProvider } from '../../../../src/doctor/provider-look.ts';
import { startLiveSettings } from '../../../../src/composition/outside/live-settings.ts';
import type { Config } from '../../../../src/config.ts';
import type { Mode } from '../../../../src/domain/values/ids.ts';
import { knownNetwork } from '../../../../src/domain/networks/known-networks.ts';
import { OPERATOR_ACTS_STREAM } from '../../../../src/domain/values/streams.ts';
import { settingsCommands } from '../../../../src/operator/settings.ts';
import type { JsonValue } from '../../../../src/ports/read-model/read-model.ts';
import { parseMasterKeys } from '../../../../src/runtime/cryptography/sealing.ts';
import { FaultProxy } from '../../../support/fault-proxy.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';

const SECRET = 'verysecretkey';
const ONE = `https://one.example/${SECRET}`;
const TWO = `https://two.example/v2?key=${SECRET}`;
const THREE = `https://user:${SECRET}@three.example`;

/** What each host answers when it is looked at. */
const looks = (faults: Readonly<Record<string, string>>, historyFaults: Readonly<Record<string, string>> = {}) => {
  const asked: string[] = [];
  const look: typeof lookAtProvider = async (_, url) => {
    const { host } = new URL(url);
    asked.push(host);
    if (faults[host]) throw new Error(faults[host]);
    return { head: 1, latencyMs: 1, historyFault: historyFaults[host] ?? null };
  };
  return { asked, look };
};

async function running(
  { look }: { look: typeof lookAtProvider },
  { mode = 'live', secondSource = {} }: { mode?: Mode; secondSource?: Partial<Config> } = {},
) {
  const access: RunningAccess = { settings: knownNetwork(mode, 'ethereum'), urls: [ONE, TWO] };
  const log = { level: 'info' };
  const store = new MemoryEventStore();
  const others = liveProviders({
    access: [access],
    config: secondSource,
    sealingKeys: parseMasterKeys('ab'.repeat(31) + 'cd'),
    look,
  });
  const config = { LOG_LEVEL: 'info', RATE_LIMIT_PER_KEY: 0, RATE_LIMIT_PER_ADDRESS: 0 } as const;
  const storage = { rateLimiter: () => Promise.reject(new Error('no limits here')) };
  const settings = await startLiveSettings({ config, log, storage, isApi: false, others });
  const lines: object[] = [];
  const parts = { store, clock: { nowMs: () => 1_800_000_000_000 }, random: nodeRandom };
  const commands = settingsCommands(settings, parts, (facts) => void lines.push(facts));
  const set = (...changes: string[]): Promise<JsonValue> => commands['settings.set']!({ changes, operator: 'Ann' });
  const acts = async () =>
    (await store.readStream(OPERATOR_ACTS_STREAM)).map(({ data }) => JSON.parse(data) as { subject: string });
  return { access, log, set, acts, lines };
}

describe('the providers of a running service', () => {
  it('change at once, in order, with the operator recorded in the event log; only new ones are checked', async () => {
    const found = looks({});
    const { access, set, acts } = await running(found);
    await set(`ETHEREUM_RPC_URLS=${THREE}, ${ONE}`);
    expect(access.urls).toEqual([THREE, ONE]);
    expect(found.asked).toEqual(['three.example']);
    expect(await acts()).toMatchObject([
      {
        act: 'settings.set',
        actor: 'Ann',
        subject: expect.stringMatching(/^ETHEREUM_RPC_URLS=three\.example#[0-9a-f]{8},one\.example#[0-9a-f]{8}$/),
      },
    ]);
  });

  it('are named by host and fingerprint, which differs for another key of the same host', async () => {
    const { set, acts, lines } = await running(looks({}));
    const answers = [await set(`ETHEREUM_RPC_URLS=${THREE},${ONE}`), await set(`ETHEREUM_RPC_URLS=${THREE},${ONE}2`)];
    const [first, second] = (await acts()).map(({ subject }) => subject.split(','));
    expect(second![0]).toBe(first![0]);
    expect(second![1]).not.toBe(first![1]);
    expect(JSON.stringify([answers, await acts(), lines])).not.toContain(SECRET);
  });

  it.each([
    [
      'cannot be used',
      looks({ 'three.example': 'serves chain 5 instead of 1' }),
      `ETHEREUM_RPC_URLS=${ONE},${THREE}`,
      /three\.example cannot be used: serves chain 5/,
    ],
    [
      'has no history',
      looks({}, { 'three.example': 'has no logs 10000 blocks back' }),
      `ETHEREUM_RPC_URLS=${THREE},${ONE}`,
      /three\.example has no logs/,
    ],
    [
      'answers with what holds its key',
      looks({ 'three.example': `Cannot convert ${SECRET} to a BigInt` }),
      `ETHEREUM_RPC_URLS=${ONE},${THREE}`,
      /three\.example cannot be used: Cannot convert \[redacted\] to a BigInt/,
    ],
    [
      'is no address',
      looks({}),
      `ETHEREUM_RPC_URLS=${ONE},ftp://${SECRET}`,
      /ETHEREUM_RPC_URLS: entry 2 is not an http/,
    ],
    ['is named twice', looks({}), `ETHEREUM_RPC_URLS=${ONE},${ONE}`, /ETHEREUM_RPC_URLS contains a URL twice/],
    ['is missing', looks({}), 'ETHEREUM_RPC_URLS= , ', /ETHEREUM_RPC_URLS is empty/],
    [
      'is of a network that is not read here',
      looks({}),
      `BSC_RPC_URLS=${ONE}`,
      /BSC_RPC_URLS cannot change while the service runs/,
    ],
  ] as const)(
    'stay as they are when one of the new ones %s, and so does everything else in the change',
    async (_, found, change, words) => {
      const { access, log, set, acts } = await running(found);
      const error = await set('LOG_LEVEL=debug', change).then(
        () => new Error('taken'),
        (reason: Error) => reason,
      );
      expect(error.message).toMatch(words);
      expect(error.message).toMatch(/nothing was changed$/);
      expect(error.message).not.toContain(SECRET);
      expect([access.urls, log.level, await acts()]).toEqual([[ONE, TWO], 'info', []]);
    },
  );

  it.each([
    ['where the operator set the amount', { SECOND_SOURCE_FROM: '50' }],
    ['where the default is in force', {}],
  ])(
    'do not become those of one host, which would let large payments count on its word alone, %s',
    async (_, secondSource) => {
      const found = looks({});
      const { access, set } = await running(found, { secondSource });
      for (const one of [ONE, `${ONE},${ONE}2`])
        await expect(set(`ETHEREUM_RPC_URLS=${one}`)).rejects.toThrow(
          /ETHEREUM_RPC_URLS has one provider.*add one of another host.*nothing was changed$/,
        );
      expect([access.urls, found.asked]).toEqual([[ONE, TWO], []]);
    },
  );

  it('may be those of one host if no payment waits for a second source', async () => {
    const { access, set } = await running(looks({}), { mode: 'test' });
    await set(`TEST_ETHEREUM_RPC_URLS=${ONE}`);
    expect(access.urls).toEqual([ONE]);
  });

  it('change one after the other with all other settings, so that neither of two changes at once is lost', async () => {
    const held = Promise.withResolvers<void>();
    const look: typeof lookAtProvider = async () => (await held.promise, { head: 1, latencyMs: 1, historyFault: null });
    const { access, log, set, acts } = await running({ look });
    const both = [set(`ETHEREUM_RPC_URLS=${THREE},${ONE}`), set('LOG_LEVEL=debug')];
    held.resolve();
    await Promise.all(both);
    expect([access.urls, log.level]).toEqual([[THREE, ONE], 'debug']);
    expect((await acts()).map(({ subject }) => subject.split('=')[0])).toEqual(['ETHEREUM_RPC_URLS', 'LOG_LEVEL']);
  });

  it('are refused without their key where the provider itself repeats it', async () => {
    const echo = await FaultProxy.before('http://127.0.0.1:1');
    try {
      echo.play(() => ({ error: { code: -32000, message: `no such plan: ${SECRET}` } }));
      const { set } = await running({ look: lookAtProvider });
      const refusal = await set(`ETHEREUM_RPC_URLS=${echo.url}/${SECRET},${ONE}`).then(JSON.stringify, String);
      expect(refusal).toContain('no such plan: [redacted]');
      expect(refusal).not.toContain(SECRET);
    } finally {
      await echo.close();
    }
  });
});
