import { describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { signerOwner } from '../../../../src/adapters/wallet/address-owner.ts';
import { startHdDerivation } from '../../../../src/adapters/wallet/hd-derivation.ts';
import { solanaPoolDeriver } from '../../../../src/adapters/wallet/solana-pool.ts';
import { ConfirmAddresses, withConfirmation } from '../../../../src/features/addresses/confirmation.process.ts';
import { SourceRecord } from '../../../../src/features/addresses/source-record.ts';
import { createSession } from '../../../../src/features/sessions/create.ts';
import type { AddressOwner, AddressSource } from '../../../../src/ports/chain/addresses.ts';
import { silentLog } from '../../../../src/ports/log.ts';
import type { Signer } from '../../../../src/ports/signer/signer.ts';
import { newMnemonic, Wallet } from '../../../../src/signer/keys/wallet.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { ManualClock } from '../../../support/price-feed.ts';
import { caller, order, sessionWorld } from '../../../support/session-world.ts';

type Exporter = Pick<Signer, 'exportWatchOnly' | 'exportSolanaKeys'>;

/** The signer's two answers, of a real wallet that holds test keys only. */
function exporterOf(wallet: Wallet): Exporter {
  const noWallet = Object.assign(new Error('the signer holds no live keys'), { code: 'no_wallet' });
  return {
    exportWatchOnly: async (mode) => {
      if (mode === 'live') throw noWallet;
      return { mode, evmXpub: wallet.evmXpub, tronXpub: wallet.tronXpub, solanaPool: [] };
    },
    exportSolanaKeys: async (_mode, from, count) => wallet.solanaPublicKeys(from, count),
  };
}

const wallet = new Wallet(newMnemonic());
const other = new Wallet(newMnemonic());
const evm: AddressSource = { mode: 'test', family: 'evm', fingerprint: 'aa', keys: null };
const always = (answer: boolean): AddressOwner => ({ owns: async () => answer });
const confirming = (ask: (source: AddressSource) => Promise<boolean | null>) =>
  new ConfirmAddresses({ sources: [evm], ask, everyMs: 60_000, firstWaitMs: 0, log: silentLog });

describe('the signer', () => {
  it('calls its own extended public keys its own, and those of another wallet not', async () => {
    const derivation = startHdDerivation();
    const owner = signerOwner(exporterOf(wallet));
    const owns = (family: 'evm' | 'tron', xpub: string, mode: 'test' | 'live' = 'test') =>
      owner.owns(derivation.deriver(mode, family, xpub).source!);
    expect([await owns('evm', wallet.evmXpub), await owns('tron', wallet.tronXpub)]).toEqual([true, true]);
    expect([await owns('evm', other.evmXpub), await owns('tron', wallet.evmXpub)]).toEqual([false, false]);
    expect(await owns('evm', wallet.evmXpub, 'live'), 'a mode that it has no keys of').toBe(false);
    await derivation.close();
  });

  it('compares an exported pool key by key, in order', async () => {
    const owner = signerOwner(exporterOf(wallet));
    const owns = (keys: readonly string[]) => owner.owns(solanaPoolDeriver('test', keys).source!);
    const own = wallet.solanaPublicKeys(0, 5);
    expect(await owns(own)).toBe(true);
    expect(await owns([...own.slice(0, 4), other.solanaPublicKeys(4, 1)[0]!])).toBe(false);
    expect(await owns([own[1]!, own[0]!, ...own.slice(2)])).toBe(false);
    expect(await owns(own.slice(1))).toBe(false);
  });

  it('that cannot be asked has confirmed nothing', async () => {
    const gone = new Error('the signer is not reachable');
    const owner = signerOwner({ ...exporterOf(wallet), exportWatchOnly: () => Promise.reject(gone) });
    await expect(owner.owns(evm)).rejects.toThrow(gone);
  });
});

describe('addresses', () => {
  it('are withheld until the holder of the keys calls them its own, and again when it takes that back', async () => {
    let answer: boolean | null = null;
    const confirmation = confirming(async () => answer);
    const seen = [];
    for (const next of [null, true, false, true] as const) {
      answer = next;
      await confirmation.round();
      seen.push([confirmation.isWithheld('test', 'evm'), confirmation.status()[0]!.ownership]);
    }
    expect(seen).toEqual([
      [true, 'unasked'],
      [false, 'own'],
      [true, 'foreign'],
      [false, 'own'],
    ]);
  });

  it('keep their state while the signer cannot be asked', async () => {
    let owner: AddressOwner = always(true);
    const confirmation = confirming((source) => owner.owns(source));
    await confirmation.round();
    owner = { owns: () => Promise.reject(new Error('away')) };
    await confirmation.round();
    expect(confirmation.isWithheld('test', 'evm')).toBe(false);
  });

  it('that are not confirmed are in no session: creates are refused with a code of their own until they are', async () => {
    const { deps, free } = sessionWorld();
    let owner = always(false);
    const confirmation = confirming((source) => owner.owns(source));
    await confirmation.round();
    const create = () =>
      createSession({ ...deps, addresses: withConfirmation(deps.addresses, confirmation) }, caller, order);
    expect(await create()).toMatchObject({ ok: false, refusal: { code: 'addresses_unconfirmed' }, retryAfterSec: 5 });
    expect(free).toEqual([1, 2]);
    owner = always(true);
    await confirmation.round();
    expect(await create()).toMatchObject({ ok: true });
  });
});

describe('the record in the event log', () => {
  const store = () => new MemoryEventStore();
  const recordOn = (eventLog: MemoryEventStore, node: string) =>
    new SourceRecord({ store: eventLog, clock: new ManualClock(), random: nodeRandom, node });

  it('carries the request to the signer and its reply back, once', async () => {
    const eventLog = store();
    const [api, signer] = [recordOn(eventLog, '1'), recordOn(eventLog, '3')];
    expect(await api.ask(evm)).toBe(null);
    await signer.answer(always(true));
    await signer.answer(always(true));
    expect([await api.ask(evm), eventLog.events.map(({ type }) => type)]).toEqual([
      true,
      ['AddressSourceDeclared', 'AddressSourceJudged'],
    ]);
  });

  it('distinguishes nodes with other sources', async () => {
    const eventLog = store();
    const stranger = { ...evm, fingerprint: 'bb' };
    await recordOn(eventLog, '1').ask(evm);
    await recordOn(eventLog, '2').ask(stranger);
    await recordOn(eventLog, '3').answer({ owns: async ({ fingerprint }) => fingerprint === 'aa' });
    expect([await recordOn(eventLog, '1').ask(evm), await recordOn(eventLog, '2').ask(stranger)]).toEqual([
      true,
      false,
    ]);
  });

  it('gets a new reply when the signer holds another wallet than before', async () => {
    const eventLog = store();
    await recordOn(eventLog, '1').ask(evm);
    await recordOn(eventLog, '3').answer(always(true));
    await recordOn(eventLog, '3').answer(always(false));
    expect(await recordOn(eventLog, '1').ask(evm)).toBe(false);
  });

  it('loses no request to another node that was faster', async () => {
    const eventLog = store();
    const [one, two] = [recordOn(eventLog, '1'), recordOn(eventLog, '2')];
    const stranger = { ...evm, fingerprint: 'bb' };
    await Promise.all([one.ask(evm), two.ask(stranger)]);
    await Promise.all([one.ask(evm), two.ask(stranger)]);
    await recordOn(eventLog, '3').answer(always(true));
    expect([await one.ask(evm), await two.ask(stranger)]).toEqual([true, true]);
  });
});
