"""The contract between a host stub and its kernels: which names are asked for, with which arguments."""

from pipeline.checks.contract.check import check_contract, check_contract_of_fragments

__all__ = ["check_contract", "check_contract_of_fragments"]
