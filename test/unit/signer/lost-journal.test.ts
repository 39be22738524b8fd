import { describe, expect, it } from 'vitest';
import type { ApprovalAct, LogPlace } from '../../../src/ports/signer/approvals.ts';
import type { Outgoing } from '../../../src/signer/outgoing.ts';
import { approverKey, signedBy } from '../../support/approvers.ts';
import { withSigner } from '../../crash/signer-scenarios.ts';

const START_MS = 1_800_000_000_000;
const LOST = { seq: 7, hash: 'a'.repeat(64) };
const approvers = ['ada', 'ben'].map(approverKey);
const refused = { ok: false, kind: 'stopped', code: 'journal_disagrees' };

const resume = (anew: readonly LogPlace[]): ApprovalAct => ({
  ...{ kind: 'resume', mode: 'test', proposedBy: 'olga', anew },
});

async function textOf({ approvals }: Outgoing, act: ApprovalAct) {
  const terms = await approvals.terms(act);
  if (!terms.ok || terms.done) throw new Error('nothing to sign');
  return terms;
}

async function agree(signer: Outgoing, act: ApprovalAct): Promise<void> {
  for (const name of ['ada', 'ben'])
    expect(await signer.approvals.approve(act, signedBy(name, await textOf(signer, act)))).toMatchObject({ ok: true });
}

describe('a signer without its journal', () => {
  it('stops its whole mode if the event log has payments, and stays stopped', async () => {
    await withSigner(async (open, order, request) => {
      const signer = open(() => START_MS);
      expect(await signer.sign(request({}, { logPlace: LOST }))).toMatchObject(refused);
      expect(await signer.check(order)).toMatchObject({ ok: false, code: 'kill_switch' });
      expect(await signer.sign(request())).toMatchObject({ ok: false, code: 'kill_switch' });
      expect(await open(() => START_MS).status('test')).toMatchObject({ stopped: true, entries: 0 });
      return true;
    });
  });

  it.each<[string, (signer: Outgoing) => Promise<unknown>]>([
    [
      'an outflow was reported',
      (signer) =>
        signer.approvals.reportOutflows('test', 'bsc', [
          {
            ...{ mode: 'test', network: 'bsc', outflowKey: '0xabc:1', address: '0x', coin: 'USDT', amount: '7.00' },
            ...{ toAddress: null, txHash: null, blockNumber: 9 },
          },
        ]),
    ],
    [
      'an address of a merchant was approved',
      (signer) =>
        agree(signer, {
          kind: 'settlement_address',
          destination: { mode: 'test', network: 'bsc', merchantId: 'mer_1', address: '0x' },
          proposedBy: 'olga',
        }),
    ],
  ])('stops itself also where %s since', async (_, happens) => {
    await withSigner(
      async (open, order, request) => {
        const signer = open(() => START_MS);
        await happens(signer);
        expect(await signer.sign(request({}, { logPlace: LOST }))).toMatchObject(refused);
        expect(await signer.check(order)).toMatchObject({ ok: false, code: 'kill_switch' });
        return true;
      },
      { approvers },
    );
  });

  it('stops even after it signed another payment, as with an older copy of the journal', async () => {
    await withSigner(async (open, _, request) => {
      const signer = open(() => START_MS);
      expect(await signer.sign(request())).toMatchObject({ ok: true });
      expect(await signer.sign(request({ id: 're_2-1' }, { logPlace: LOST }, 1))).toMatchObject(refused);
      expect(await signer.status('test')).toMatchObject({ stopped: true });
      return true;
    });
  });

  it('differs from an event log that is behind: nothing is stopped', async () => {
    await withSigner(async (open, _, request) => {
      const signer = open(() => START_MS);
      const first = await signer.sign(request());
      if (!first.ok) throw new Error(first.message);
      await signer.sign(request({ id: 're_2-1' }, { logPlace: first.journal }, 1));
      for (const logPlace of [null, first.journal])
        expect(await signer.sign(request({ id: 're_3-1' }, { logPlace }, 2))).toMatchObject(refused);
      expect(await signer.status('test')).toMatchObject({ stopped: false });
      return true;
    });
  });

  it('signs the first payment of a new installation', async () => {
    await withSigner(async (open, _, request) => {
      const signer = open(() => START_MS);
      expect(await signer.sign(request())).toMatchObject({ ok: true });
      expect(await signer.status('test')).toMatchObject({ stopped: false, entries: 1 });
      return true;
    });
  });
});

describe('resuming without the journal', () => {
  const lost = { network: 'ethereum', place: LOST } as const;

  it('is approved with the entry up to which the event log has paid, from which its network pays again', async () => {
    await withSigner(
      async (open, _, request) => {
        const signer = open(() => START_MS);
        await signer.sign(request({}, { logPlace: LOST }));
        const { text } = await textOf(signer, resume([lost]));
        expect(text).toContain(`begin anew: ethereum, though this journal does not hold entry 7 (${LOST.hash})`);
        await agree(signer, resume([lost]));
        const status = await signer.status('test');
        if ('ok' in status) throw new Error(status.message);
        const began = status.lastPlaces.ethereum!;
        expect(status).toMatchObject({ stopped: false });
        expect(await signer.signedAfter('test', 'ethereum', LOST)).toEqual({ payments: [] });
        const paid = await signer.sign(request({}, { logPlace: began }));
        expect(paid).toMatchObject({ ok: true });
        const after = await signer.signedAfter('test', 'ethereum', began);
        expect('payments' in after && after.payments.map(({ id }) => id)).toEqual(['re_1-1']);
        return true;
      },
      { approvers },
    );
  });

  it('is not meant by a resumption that does not say so: the signer stops again', async () => {
    await withSigner(
      async (open, _, request) => {
        const signer = open(() => START_MS);
        await signer.sign(request({}, { logPlace: LOST }));
        await agree(signer, resume([]));
        expect(await signer.status('test')).toMatchObject({ stopped: false });
        expect(await signer.sign(request({}, { logPlace: LOST }))).toMatchObject(refused);
        expect(await signer.status('test')).toMatchObject({ stopped: true });
        return true;
      },
      { approvers },
    );
  });

  it('is not available to an event log behind the journal: later signatures are not forgotten', async () => {
    await withSigner(
      async (open, _, request) => {
        const signer = open(() => START_MS);
        const first = await signer.sign(request());
        if (!first.ok) throw new Error(first.message);
        const second = await signer.sign(request({ id: 're_2-1' }, { logPlace: first.journal }, 1));
        if (!second.ok) throw new Error(second.message);
        await signer.stop('test', 'olga');
        const act = resume([{ network: 'ethereum', place: first.journal }]);
        expect((await textOf(signer, act)).text).not.toContain('begin anew');
        await agree(signer, act);
        expect(await signer.status('test')).toMatchObject({ lastPlaces: { ethereum: second.journal } });
        expect(await signer.sign(request({ id: 're_3-1' }, { logPlace: first.journal }, 2))).toMatchObject(refused);
        return true;
      },
      { approvers },
    );
  });
});

describe('the approval of a payment that is taken over', () => {
  it('is not possible for the proposer of the payment, and says so before anybody signs', async () => {
    await withSigner(
      async (open, _, request) => {
        const signer = open(() => START_MS);
        const signed = await signer.sign(request());
        if (!signed.ok) throw new Error(signed.message);
        const act = (requestedBy: string | null): ApprovalAct => ({
          ...{ kind: 'take_over', mode: 'test', network: 'ethereum', txHash: signed.txHash, reason: 'restored' },
          ...{ proposedBy: 'olga', requestedBy },
        });
        expect(await signer.approvals.terms(act('ada'))).toMatchObject({
          ok: false,
          code: 'too_few_approvers',
          message: expect.stringContaining('2 approvers other than olga and ada') as string,
        });
        expect((await textOf(signer, act('merchant'))).text).toContain('asked for by: merchant');
        expect(await textOf(signer, act(null))).toBeDefined();
        return true;
      },
      { approvers },
    );
  });

  it('is refused to the proposer at once if other approvers remain', async () => {
    await withSigner(
      async (open, _, request) => {
        const signer = open(() => START_MS);
        const signed = await signer.sign(request());
        if (!signed.ok) throw new Error(signed.message);
        const act: ApprovalAct = {
          ...{ kind: 'take_over', mode: 'test', network: 'ethereum', txHash: signed.txHash, reason: 'restored' },
          ...{ proposedBy: 'olga', requestedBy: 'ada' },
        };
        expect(await signer.approvals.approve(act, signedBy('ada', await textOf(signer, act)))).toMatchObject({
          ok: false,
          code: 'own_proposal',
        });
        await signer.approvals.approve(act, signedBy('ben', await textOf(signer, act)));
        expect(await signer.approvals.approve(act, signedBy('cleo', await textOf(signer, act)))).toMatchObject({
          done: true,
          approvers: ['ben', 'cleo'],
        });
        return true;
      },
      { approvers: [...approvers, approverKey('cleo')] },
    );
  });
});
