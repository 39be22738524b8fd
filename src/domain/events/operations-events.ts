import type { CanaryFailure, CanaryStepTime } from '../canary.ts';
import type { Mode, SessionId } from '../ids.ts';
import type { Coin } from '../money.ts';
import type { AddressFamily, Network } from '../networks.ts';

/* The storage format of the smaller streams that keep the service honest. */

/**
 * `addresses-<mode>-<family>`: a node's own range of derivation indexes, both ends included, taken before any of it is
 * used.
 */
export interface AddressRangeLeased {
  readonly type: 'AddressRangeLeased';
  readonly data: {
    readonly mode: Mode;
    readonly family: AddressFamily;
    readonly from: number;
    readonly to: number;
    readonly node: string;
  };
}

/**
 * `address-source-<mode>-<family>`: a node without the signer says what it derives addresses from, and asks whose they
 * are.
 */
export interface AddressSourceDeclared {
  readonly type: 'AddressSourceDeclared';
  readonly data: {
    readonly mode: Mode;
    readonly family: AddressFamily;
    /** See `AddressSource`. */
    readonly fingerprint: string;
    readonly keys: number | null;
    readonly node: string;
  };
}

/** In the same stream: the signer's answer. The last one about a source counts. */
export interface AddressSourceJudged {
  readonly type: 'AddressSourceJudged';
  readonly data: {
    readonly mode: Mode;
    readonly family: AddressFamily;
    readonly fingerprint: string;
    readonly isOwn: boolean;
  };
}

/**
 * `coverage-<mode>-<network>`: the evidence that blocks were read, by which provider; both ends included. In
 * `rescans-<mode>-<network>`: of those that an operator had read again.
 */
export interface RangeScanned {
  readonly type: 'RangeScanned';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly fromBlock: number;
    readonly toBlock: number;
    readonly toBlockHash: string;
    readonly toBlockTimeSec: number;
    readonly providers: readonly string[];
    readonly transfersSeen: number;
    /** Where a chain is read by accounts: how far the rounds over those of ended sessions had come. */
    readonly sweeps?: SweepMarks;
  };
}

/**
 * A round over the addresses of ended sessions: those whose turn (`turnOf`) is over were read at its start or later,
 * the others at the start of the one before.
 */
export interface SweepMark {
  readonly startedSec: number;
  /** Null before the second round. */
  readonly previousSec: number | null;
  /** Turns that are over. */
  readonly turns: number;
}

/** `recent`: ended within a day. Null before the first turn. */
export interface SweepMarks {
  readonly recent: SweepMark | null;
  readonly old: SweepMark | null;
}

/** A local chain was started anew: facts of the old one are marked "previous chain", never read as a reorg. */
export interface ChainReplaced {
  readonly type: 'ChainReplaced';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly oldGenesis: string;
    readonly newGenesis: string;
  };
}

/** `idempotency-<mode>-<merchant>-<hash of key>`: appended with `NoStream` before the command it protects. */
export interface RequestAccepted {
  readonly type: 'RequestAccepted';
  readonly data: {
    readonly requestHash: string;
    readonly operation: string;
    readonly givenId: string;
    readonly acceptedAtSec: number;
  };
}

/**
 * In the same stream, for commands that keep no trace of their own. Null: refused, nothing was done. The last one
 * counts.
 */
export interface RequestAnswered {
  readonly type: 'RequestAnswered';
  readonly data: { readonly answer: string | null; readonly answeredAtSec: number };
}

/** `audit`: a signed tree head in C2SP checkpoint form. */
export interface CheckpointSigned {
  readonly type: 'CheckpointSigned';
  readonly data: {
    readonly origin: string;
    readonly size: number;
    readonly rootHash: string;
    readonly checkpoint: string;
    /** In the store of that day; `size` says the same in every store. */
    readonly throughPosition: string;
  };
}

/** `ledger-periods-<mode>`: a closed month, its figures fixed. */
export interface PeriodClosed {
  readonly type: 'PeriodClosed';
  readonly data: {
    readonly mode: Mode;
    readonly period: string;
    /** Id of the event behind the last entry counted: a store's own position would name another place after a move. */
    readonly throughPosition: string;
    readonly balances: Readonly<Record<string, string>>;
    readonly actor: string;
  };
}

/**
 * `secrets-<purpose>`: a secret all nodes share, generated once, sealed under the master key; old versions are kept.
 */
export interface SecretGenerated {
  readonly type: 'SecretGenerated';
  readonly data: { readonly purpose: string; readonly secretVersion: number; readonly sealedSecret: string };
}

/** The act of an operator by which what was said about people in a session becomes unreadable forever. */
export const SESSION_FORGET = 'session.forget';

/**
 * `operator-acts`: what an operator did that leaves no other event; who, to what and when, never what was there before.
 */
export interface OperatorActed {
  readonly type: 'OperatorActed';
  readonly data: {
    /** Name of the command. */
    readonly act: string;
    /** Such as the session whose personal data was erased; null where nothing is named. */
    readonly subject: string | null;
    readonly actor: string;
    readonly actedAtSec: number;
  };
}

/** `operator-acts`: the ledger was put back as it was once; what came after its last event before this one is lost. */
export interface LedgerRestored {
  readonly type: 'LedgerRestored';
  readonly data: {
    readonly backupMadeAtSec: number;
    /** How many the backup held. */
    readonly events: number;
    /** Null in an empty ledger. */
    readonly lastEventAtSec: number | null;
    /** How many were signed, where the signer remembers more than there are: the difference at least is lost. */
    readonly signedEvents: number | null;
    /**
     * What the signer signed and this ledger does not know; null where nothing can tell, as when its journal comes from
     * the same backup.
     */
    readonly unknownPayments:
      | readonly { readonly mode: Mode; readonly network: Network; readonly id: string; readonly txHash: string }[]
      | null;
    readonly addresses: readonly {
      readonly mode: Mode;
      readonly family: AddressFamily;
      /** No session of the ledger has an address from here on ... */
      readonly unusedFrom: number;
      /** ... and none was leased from here on, as far as ledger and signer know. */
      readonly leasedBelow: number;
      /** Whether the signer remembered how far it was: otherwise more may have been leased. */
      readonly isKnown: boolean;
    }[];
    readonly actor: string;
    readonly restoredAtSec: number;
  };
}

/**
 * `canary-<mode>-<network>`: a payment of our own to ourselves, recorded before its money leaves the canary's
 * wallet.
 */
export interface CanaryPaymentStarted {
  readonly type: 'CanaryPaymentStarted';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly coin: Coin;
    readonly amount: string;
    readonly sessionId: SessionId;
    readonly startedAtSec: number;
  };
}

/** In the same stream: how it went. `sessionId` is null where not even a session was created. */
export interface CanaryPaymentEnded {
  readonly type: 'CanaryPaymentEnded';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly sessionId: SessionId | null;
    readonly startedAtSec: number;
    /** Those that were reached, in order. */
    readonly steps: readonly CanaryStepTime[];
    /** Null where the money went there and back. */
    readonly failure: CanaryFailure | null;
    readonly endedAtSec: number;
  };
}

export type OperationsEvent =
  | SecretGenerated
  | AddressRangeLeased
  | AddressSourceDeclared
  | AddressSourceJudged
  | RangeScanned
  | ChainReplaced
  | RequestAccepted
  | RequestAnswered
  | CheckpointSigned
  | PeriodClosed
  | OperatorActed
  | LedgerRestored
  | CanaryPaymentStarted
  | CanaryPaymentEnded;
