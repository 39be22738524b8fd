import { isCancelling } from '../../../domain/events/transaction-draft.ts';
import type { DomainEvent } from '../../../domain/events/domain-event.ts';
import type { DepositKind, DepositReverted } from '../../../domain/events/session-events.ts';
import { needsAcknowledgement, type Sender } from '../../../domain/networks/senders.ts';

type Facts = Readonly<Record<string, string | number | boolean | null>>;

interface Description {
  readonly message: string;
  readonly facts: Facts;
}

const KIND_WORDS: Readonly<Record<DepositKind, string>> = {
  on_time: 'it counts towards the amount due once it is final',
  late: 'it does not count because it came after the deadline or after the session had ended; it can be refunded',
  wrong_coin: 'it does not count because the session is due in another coin; it can be refunded',
  wrong_network: 'it does not count because the session does not offer this network; it can be refunded',
  dust: 'it does not count because it is below the dust limit; it can be refunded if its payer is known',
  own: 'it does not count because it came from an address of this installation; it is refunded to nobody',
};

const REVERTED_WORDS: Readonly<Record<DepositReverted['data']['reason'], string>> = {
  reorg: 'The transfer left the chain (reorganisation)',
  failed: 'The transfer is in the chain without effect',
  not_in_block: 'The transfer is not in the block that it was reported in',
};

/** Describes an event in one sentence for people, with its facts. */
export function describeEvent(event: DomainEvent): Description {
  return (
    describeSession(event) ??
    describeDeposit(event) ??
    describeTransfer(event) ??
    describeRefund(event) ??
    describeDelivery(event) ?? { message: event.type, facts: {} }
  );
}

function describeSession(event: DomainEvent): Description | null {
  switch (event.type) {
    case 'SessionCreated': {
      const { dueAmount, dueCoin, expiresAtSec, paymentOptions, rateLock, alternative } = event.data;
      const networks = [...new Set(paymentOptions.map(({ network }) => network))].join(', ');
      const or = alternative ? ` or ${alternative.dueAmount} ${alternative.coin}` : '';
      return {
        message: `Session created: ${dueAmount} ${dueCoin}${or} due, payable on ${networks}.`,
        facts: { due: dueAmount, coin: dueCoin, expires_at: expiresAtSec, rate: rateLock?.rate ?? null },
      };
    }
    case 'CoinChosen': {
      const { coin, dueAmount, rate } = event.data;
      return {
        message: `The first money came in ${coin}: ${dueAmount} ${coin} is due.`,
        facts: { due: dueAmount, coin, rate },
      };
    }
    case 'SessionPaid':
      return {
        message: `Paid: ${event.data.received} of ${event.data.due} ${event.data.coin}${event.data.afterExpiry ? ', after the session had ended' : ''}.`,
        facts: { received: event.data.received, excess: event.data.excess, after_expiry: event.data.afterExpiry },
      };
    case 'SessionExpired':
      return {
        message: `Expired with ${event.data.received} ${event.data.coin} received; every offered network was read past the deadline or could not be reached in time.`,
        facts: { received: event.data.received, ...scanned(event.data.scannedToSec) },
      };
    case 'SessionFailed':
      return {
        message: 'Failed: a payment that would have sufficed was seen and permanently lost.',
        facts: { received: event.data.received },
      };
    case 'SessionCancelled':
      return {
        message: `Cancelled by the merchant${event.data.inFlight ? ' while money was on its way' : ''}.`,
        facts: { in_flight: event.data.inFlight },
      };
    case 'SessionDeadlineMoved':
      return {
        message: `The sandbox moved the deadline to ${new Date(event.data.expiresAtSec * 1000).toISOString()}.`,
        facts: { expires_at: event.data.expiresAtSec },
      };
    default:
      return null;
  }
}

/** Describes what happened on the chain. */
function describeDeposit(event: DomainEvent): Description | null {
  switch (event.type) {
    case 'DepositDetected': {
      const { amount, coin, network, txHash, logIndex, blockNumber, blockTimeSec, fromAddress, toAddress, kind } =
        event.data;
      const facts = {
        network,
        tx_hash: txHash,
        log_index: logIndex,
        block: blockNumber,
        block_time: blockTimeSec,
        from_address: fromAddress,
        to_address: toAddress,
        amount,
        coin,
        judged: kind,
      };
      return {
        message: `Transfer of ${amount} ${coin} seen on ${network} in block ${blockNumber}: ${KIND_WORDS[kind]}.`,
        facts,
      };
    }
    case 'DepositConfirmed': {
      const { depositKey, rule, blockNumber, headNumber, sender, kind } = event.data;
      const how = rule.kind === 'finalized' ? 'the chain calls its block final' : `${rule.confirmations} confirmations`;
      return {
        message: `Transfer is final: ${how} (block ${blockNumber}, head ${headNumber}).${kind ? ` A reorganisation moved it: ${KIND_WORDS[kind]}.` : ''}${senderWords(sender)}`,
        facts: {
          deposit: depositKey,
          rule: rule.kind,
          block: blockNumber,
          head: headNumber,
          ...(sender && { sender: sender.kind }),
        },
      };
    }
    case 'DepositReverted': {
      const { depositKey, reason, afterFinal } = event.data;
      return {
        message: `${REVERTED_WORDS[reason]}${afterFinal ? ' after it had been final' : ''}.`,
        facts: { deposit: depositKey, reason, after_final: afterFinal },
      };
    }
    default:
      return null;
  }
}

/** Describes an operator's decision about money that pays no order. */
function describeTransfer(event: DomainEvent): Description | null {
  switch (event.type) {
    case 'DepositSetAside':
      return {
        message: 'An operator set the transfer aside: it does not belong to this session any more.',
        facts: { deposit: event.data.depositKey },
      };
    case 'DepositPutBack':
      return { message: 'The transfer belongs to this session again.', facts: { deposit: event.data.depositKey } };
    case 'TransferGivenUp':
      return {
        message: 'An operator’s decision about the transfer was given up.',
        facts: { deposit: event.data.depositKey },
      };
    case 'TransferCredited': {
      const { depositKey, amount, coin, network, kind } = event.data;
      return {
        message: `An operator attached a transfer of ${amount} ${coin} on ${network} that came to another address: ${KIND_WORDS[kind]}.`,
        facts: { deposit: depositKey, amount, coin, network, judged: kind },
      };
    }
    case 'TransferCreditReversed':
      return {
        message: 'The attached transfer was detached.',
        facts: { deposit: event.data.depositKey, amount: event.data.amount },
      };
    default:
      return null;
  }
}

/** A refund may be lost where no single person holds the key. */
const senderWords = (sender: Sender | undefined): string =>
  needsAcknowledgement(sender)
    ? ` It came from ${sender.kind === 'exchange' ? `a wallet of ${sender.name ?? 'an exchange'}` : 'a contract'}: a refund needs \`acknowledge_sender\`.`
    : '';

function describeRefund(event: DomainEvent): Description | null {
  switch (event.type) {
    case 'RefundRequested':
      return {
        message: `Refund of ${event.data.amount} ${event.data.coin} requested and reserved.`,
        facts: { refund: event.data.refundId, amount: event.data.amount, payouts: event.data.legs.length },
      };
    case 'RefundPayoutSigned':
    case 'RefundPayoutReplaced':
      return {
        message: isCancelling(event.data)
          ? 'Refund payout cancelled: its deposit is gone, and a transaction that moves nothing replaces it.'
          : 'Refund payout signed and stored before sending.',
        facts: { refund: event.data.refundId, payout: event.data.legId, tx_hash: event.data.txHash },
      };
    case 'RefundPayoutLanded':
      return {
        message: `Refund payout is in block ${event.data.blockNumber}.`,
        facts: {
          refund: event.data.refundId,
          payout: event.data.legId,
          tx_hash: event.data.txHash,
          network_fee: event.data.networkFee,
        },
      };
    case 'RefundPayoutReverted':
      return {
        message: 'Refund payout left the chain; the same transaction is sent again.',
        facts: { refund: event.data.refundId, payout: event.data.legId, tx_hash: event.data.txHash },
      };
    case 'RefundPayoutFailed':
      return {
        message: `Refund payout failed: ${event.data.reason}.`,
        facts: { refund: event.data.refundId, payout: event.data.legId, reason: event.data.reason },
      };
    case 'RefundCompleted':
      return {
        message: `Refund of ${event.data.amount} ${event.data.coin} completed.`,
        facts: { refund: event.data.refundId },
      };
    case 'RefundFailed':
      return {
        message: `Refund failed: ${event.data.reason}; ${event.data.amountReturned} ${event.data.coin} reached the payer.`,
        facts: { refund: event.data.refundId, reason: event.data.reason },
      };
    default:
      return null;
  }
}

function describeDelivery(event: DomainEvent): Description | null {
  switch (event.type) {
    case 'DeliveryScheduled':
      return { message: `Webhook ${event.data.eventType} scheduled.`, facts: { event: event.data.notificationId } };
    case 'DeliveryAttempted': {
      const { attempt, status, failure, notificationId, durationMs } = event.data;
      return {
        message: `Webhook attempt ${attempt}: ${status === null ? (failure ?? 'no answer') : `answered ${status}`}.`,
        facts: { event: notificationId, status, failure, duration_ms: durationMs },
      };
    }
    case 'DeliverySucceeded':
      return { message: 'Webhook delivered.', facts: { event: event.data.notificationId } };
    case 'RedeliveryRequested':
      return {
        message: `Redelivery of the webhook requested by ${event.data.by}.`,
        facts: { event: event.data.notificationId },
      };
    case 'DeliveryExhausted':
      return {
        message: 'Webhook not delivered: all quick retries failed.',
        facts: { event: event.data.notificationId },
      };
    case 'DeliveryRejected':
      return {
        message: `Webhook rejected by the receiver (${event.data.failure}).`,
        facts: { event: event.data.notificationId },
      };
    default:
      return null;
  }
}

const scanned = (scannedToSec: Readonly<Partial<Record<string, number | null>>>): Facts =>
  Object.fromEntries(Object.entries(scannedToSec).map(([network, time]) => [`${network}_read_to`, time ?? null]));
