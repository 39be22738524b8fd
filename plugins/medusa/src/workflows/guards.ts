import {
  cancelOrderWorkflow,
  completeCartWorkflow,
  refreshPaymentCollectionForCartWorkflow,
} from '@medusajs/medusa/core-flows';
import { guardCancellation, guardChange, guardCompletion } from '../guards.ts';

/* A hook of Medusa has one handler. A shop that has its own calls the guards in it, and says so in its environment. */
if (process.env['QUITTANCE_HOOKS'] !== 'own') {
  completeCartWorkflow.hooks.validate(guardCompletion);
  refreshPaymentCollectionForCartWorkflow.hooks.validate(guardChange);
  cancelOrderWorkflow.hooks.orderCanceled(guardCancellation);
}
