"""What a run's energy is made of, how sure that is, and what it cost."""

import pytest

from jobmeter.aggregation import energy, headline


def test_what_nothing_measured_has_no_energy() -> None:
    assert energy.account({"nvml_mean_power": 500.0}, "0.31 EUR") is None
    assert energy.sentence({}) == ""
    assert headline.energy_joules({}, {}) is None


def test_a_gpus_own_counter_is_measured() -> None:
    assert headline.energy_joules({"nvml_energy": 5400.0}, {}) == {
        "value": 5400.0,
        "low": 5400.0,
        "high": 5400.0,
        "keys": ["nvml_energy"],
        "exact": True,
    }


def test_a_gpu_others_used_too_is_not_exact() -> None:
    found = headline.energy_joules({"nvml_energy": 5400.0}, {"nvml_energy": "others used it"})
    assert found is not None
    assert found["exact"] is False


def test_the_jobs_share_of_processors_is_an_estimate_between_none_and_all_of_it() -> None:
    summary = {"nvml_energy": 5000.0, "rapl_energy_share": 300.0, "rapl_package": 900.0, "rapl_dram": 100.0}
    assert headline.energy_joules(summary, {}) == {
        "value": 5300.0,
        "low": 5000.0,
        "high": 6000.0,
        "keys": ["nvml_energy", "rapl_energy_share"],
        "exact": False,
    }


def test_a_share_without_the_whole_is_bounded_by_itself() -> None:
    assert headline.energy_joules({"rapl_energy_share": 300.0}, {}) == {
        "value": 300.0,
        "low": 0,
        "high": 300.0,
        "keys": ["rapl_energy_share"],
        "exact": False,
    }


def test_gpus_with_and_without_a_counter_are_added_and_the_same_gpu_by_two_tools_is_not() -> None:
    summary = {"nvml_energy": 100.0, "nvml_energy_estimate": 20.0, "nvsmi_energy_estimate": 115.0}
    found = energy.parts(summary)
    assert [(part.key, part.joules, part.method) for part in found] == [
        ("nvml_energy", 100.0, "measured_counter"),
        ("nvml_energy_estimate", 20.0, "integrated_power"),
    ]


def test_an_account_holds_kwh_the_parts_with_their_methods_and_the_cost() -> None:
    assert energy.account({"nvml_energy": 7_200_000, "rapl_energy_share": 1_800_000}, "0.30 EUR") == {
        "joules": 9_000_000,
        "kwh": 2.5,
        "parts": [
            {"key": "nvml_energy", "joules": 7_200_000, "method": "measured_counter"},
            {"key": "rapl_energy_share", "joules": 1_800_000, "method": "cpu_time_share"},
        ],
        "energy_cost": 0.75,
        "currency": "EUR",
    }


def test_without_a_price_there_is_no_cost_and_without_a_currency_just_a_number() -> None:
    assert "energy_cost" not in (energy.account({"nvml_energy": 3.6e6}, None) or {})
    account = energy.account({"nvml_energy": 3.6e6}, "2")
    assert account is not None
    assert (account["energy_cost"], "currency" in account) == (2.0, False)
    assert energy.split_price("dear") == (None, "")


@pytest.mark.parametrize(
    ("joules", "price", "text"),
    [
        (12.3, None, "12.3 J = 0.0000034 kWh"),
        (5400, "0.31 EUR", "5.40 kJ = 0.0015 kWh, 0.00047 EUR"),
        (3.6e6, "0.31", "3.60 MJ = 1.00 kWh, 0.31"),
        (2.5e9, "0.2 USD", "2.50 GJ = 694.44 kWh, 138.89 USD"),
        (0, None, "0 J = 0.00 kWh"),
    ],
)
def test_energy_is_said_in_a_few_words(joules: float, price: str | None, text: str) -> None:
    assert energy.sentence(energy.account({"nvml_energy": joules}, price) or {}) == text
