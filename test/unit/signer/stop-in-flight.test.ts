import { expect, it } from 'vitest';
import { addressFamilyOf } from '../../../src/domain/networks/networks.ts';
import type { ApprovalAct, ApprovalTerms } from '../../../src/ports/signer/approvals.ts';
import type { Signature, SignerStatus, SigningRequest } from '../../../src/ports/outgoing/signer.ts';
import { signedBy } from '../../support/approvers.ts';
import { MODEL_WALLET, type ModelChain } from '../../support/model-chains/model-chain.ts';
import { outgoing } from '../../support/outgoing.ts';
import { MODELS, onModel, SearchedSigner } from '../../support/signer-search.ts';

/* Requests that wait for the chain, and a stop that comes meanwhile. */

const LIMITS = { perTransaction: '100', perHour: '200', perDay: '200', approvalFrom: '100' };

async function begin(chain: ModelChain, journalDirectory: string) {
  const signer = new SearchedSigner(chain, { journalDirectory, limits: { USDT: LIMITS }, payoutsPerHour: 10 });
  const { network, paid } = chain;
  const requests = ['re_1-1', 're_2-1'].map((id, index): SigningRequest => {
    const order = outgoing({
      ...{ kind: 'refund', id, network, coin: 'USDT', amount: '10', toAddress: paid[0]!.payer },
      fromAddress: MODEL_WALLET.treasury[addressFamilyOf(network)],
      deposits: [{ ...paid[0]!.proof, amount: '10' }],
    });
    return { order, attempt: 1, draft: chain.draft(10_000_000n, 0, index), logPlace: null };
  });
  for (const { order } of requests) await signer.book(order);
  return { signer, request: requests[0]!, other: requests[1]! };
}

const stop = (signer: SearchedSigner) => signer.ask<SignerStatus>('stop', { mode: 'test', by: 'olga' });
const outflow = (network: string) => ({
  ...{ mode: 'test', network, outflowKey: '0xabc:1', address: 'ours', coin: 'USDT', amount: '7.00' },
  ...{ toAddress: null, txHash: null, blockNumber: 9 },
});

it.each(MODELS)('on %s a stop waits for nothing, and what is in work is not signed', (_, model) =>
  onModel(model, async (chain, directory) => {
    const { signer, request, other } = await begin(chain, directory);
    const ended: string[] = [];
    const asked = [
      signer.ask<Signature>('sign', request).finally(() => ended.push('sign')),
      signer.ask<Signature>('check', { order: other.order }).finally(() => ended.push('check')),
      signer.ask<Signature>('sign', other).finally(() => ended.push('sign')),
    ];
    // The first request waits for the chain now.
    await new Promise(setImmediate);
    expect(await stop(signer)).toMatchObject({ stopped: true, entries: 0 });
    expect(await signer.ask('status', { mode: 'test' })).toMatchObject({ stopped: true });
    expect(ended).toEqual([]);
    for (const answer of await Promise.all(asked)) expect(answer).toMatchObject({ ok: false, code: 'kill_switch' });
    expect(await signer.ask('status', { mode: 'test' })).toMatchObject({ entries: 0 });
  }),
);

it.each(MODELS)(
  'on %s a signature that is being made when an unknown outflow is reported stays away',
  (network, model) =>
    onModel(model, async (chain, directory) => {
      const { signer, request } = await begin(chain, directory);
      const signing = signer.ask<Signature>('sign', request);
      await new Promise(setImmediate);
      await signer.ask('reportOutflows', { mode: 'test', network, outflows: [outflow(network)] });
      expect(await signing).toMatchObject({ ok: false });
      expect(await signer.ask('status', { mode: 'test' })).toMatchObject({ entries: 0 });
    }),
);

it.each(MODELS)('on %s what was signed before a stop is given out again only after it', (_, model) =>
  onModel(model, async (chain, directory) => {
    const { signer, request } = await begin(chain, directory);
    const first = await signer.ask<Signature>('sign', request);
    expect(first).toMatchObject({ ok: true });
    await stop(signer);
    // Not `later`, after which the service would release the sequence that the journal has used.
    expect(await signer.ask('sign', request)).toMatchObject({ ok: false, kind: 'stopped', code: 'kill_switch' });
    await resume(signer, ['ada', 'ben']);
    expect(await signer.ask('sign', request)).toEqual(first);
  }),
);

it('an approval of resuming does not count for a stop that came after it', () =>
  onModel(MODELS[0][1], async (chain, directory) => {
    const { signer } = await begin(chain, directory);
    await stop(signer);
    await resume(signer, ['ada']);
    await stop(signer);
    await resume(signer, ['ben']);
    expect(await signer.ask('status', { mode: 'test' })).toMatchObject({ stopped: true });
    await resume(signer, ['ada']);
    expect(await signer.ask('status', { mode: 'test' })).toMatchObject({ stopped: false });
  }));

async function resume(signer: SearchedSigner, people: readonly string[]): Promise<void> {
  const act: ApprovalAct = { kind: 'resume', mode: 'test', anew: [], proposedBy: 'olga' };
  for (const name of people) {
    const terms = await signer.ask<ApprovalTerms>('approvalTerms', { act });
    if (!terms?.ok || terms.done) throw new Error('it is not stopped');
    await signer.ask('approve', { act, approval: signedBy(name, terms) });
  }
}
